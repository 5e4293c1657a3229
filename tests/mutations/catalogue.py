"""Faults put in on purpose: each a change of one place that the tests named beside it must notice.

A mutation that no test can notice is listed with the reason why it changes nothing. `python tests/mutations/run.py`
applies them one at a time to a copy of the tree; `test_catalogue.py` keeps their places from going stale.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MUTATIONS", "Mutation"]


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One fault.

    Attributes:
        id: Short name.
        what: What goes wrong.
        path: File below src/wordveil.
        old: Text that stands there exactly once.
        new: What takes its place.
        tests: Files or folders below tests that must notice it.
        equivalent: Why nothing can notice it; empty for a fault.
    """

    id: str
    what: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]
    equivalent: str = ""


MUTATIONS = (
    Mutation(
        id="m01",
        what="TEM takes gamma at twice epsilon",
        path="mechanisms/tem.py",
        old="truncation_distance(2 * rate,",
        new="truncation_distance(4 * rate,",
        tests=("mechanisms/test_selection.py",),
    ),
    Mutation(
        id="m02",
        what="rows are clipped at 1.01 times the radius",
        path="mechanisms/rows.py",
        old="np.asarray(rows * (radius / np.maximum(norms, radius))[:, None])",
        new="np.asarray(rows * (1.01 * radius / np.maximum(norms, 1.01 * radius))[:, None])",
        tests=("mechanisms/test_clipped_gaussian.py", "mechanisms/test_clipped_laplace.py"),
    ),
    Mutation(
        id="m03",
        what="NADP gives isolated words the mean reach",
        path="mechanisms/nadp.py",
        old="np.where(graph.isolated, graph.reach.max(), reach)",
        new="np.where(graph.isolated, graph.reach.mean(), reach)",
        tests=("mechanisms/test_nadp.py",),
    ),
    Mutation(
        id="m04",
        what="Laplace draws its radius from the lane of its directions",
        path="mechanisms/multivariate_laplace.py",
        old="stream.lane(1).standard_gamma",
        new="stream.lane(0).standard_gamma",
        tests=("mechanisms/test_contract.py",),
    ),
    Mutation(
        id="m05",
        what="tight constraints keep 24 nats of tail instead of 22",
        path="mechanisms/tight.py",
        old="BASE_TAIL_NATS = 22.0",
        new="BASE_TAIL_NATS = 24.0",
        tests=("mechanisms/test_selection.py", "certification/test_tight_constraints.py"),
        equivalent="claim and slack are computed from it and follow",
    ),
    Mutation(
        id="m06",
        what="the margin of the exact stretch is a hundredth of the bound on rounding",
        path="mechanisms/stretch.py",
        old="float(1.1 * UNIT * (",
        new="float(0.011 * UNIT * (",
        tests=("kernels/test_rounding_bounds.py",),
    ),
    Mutation(
        id="m07",
        what="the Gaussian delta has no allowance for rounding",
        path="mechanisms/gaussian_scale.py",
        old="    rounding = 64 * UNIT",
        new="    rounding = 0 * UNIT",
        tests=("kernels/test_rounding_bounds.py", "mechanisms/test_clipped_gaussian.py"),
    ),
    Mutation(
        id="k01",
        what="the high product loses a carry",
        path="randomness.py",
        old="middle = a1 * b0 + ((a0 * b0) >> half)",
        new="middle = a1 * b0",
        tests=("kernels/test_selection.py",),
    ),
    Mutation(
        id="k02",
        what="a random word on a boundary falls into the column before",
        path="kernels/selection.py",
        old="bounds[row, np.maximum(column - 1, 0)] > targets)",
        new="bounds[row, np.maximum(column - 1, 0)] >= targets)",
        tests=("kernels/test_selection.py",),
    ),
    Mutation(
        id="k03",
        what="every attempt takes the first two random words",
        path="kernels/selection.py",
        old="pair = bits[left, 2 * attempt : 2 * attempt + 2]",
        new="pair = bits[left, :2]",
        tests=("kernels/test_selection.py", "kernels/test_ceilings.py"),
        equivalent="an attempt repeated is rejected again, and the exact draw after it is fresh: only time is lost",
    ),
    Mutation(
        id="k04",
        what="the exact draw after rejections takes the last attempt's random words",
        path="kernels/selection.py",
        old="masses, row, bits[left, -2:])",
        new="masses, row, bits[left, -4:-2])",
        tests=("kernels/test_selection.py", "kernels/test_ceilings.py"),
    ),
    Mutation(
        id="k05",
        what="ceilings forget the error of the compiled root",
        path="kernels/ceilings.py",
        old="math.sqrt(2) * (1 - ROOT_ERROR)",
        new="math.sqrt(2)",
        tests=("kernels/test_ceilings.py",),
    ),
    Mutation(
        id="k06",
        what="the arithmetic slack counts one input instead of two",
        path="kernels/weight_rows.py",
        old="return 2 * (4 * weight",
        new="return 1 * (4 * weight",
        tests=("kernels/test_rounding_bounds.py",),
    ),
    Mutation(
        id="k07",
        what="ceilings leave no room for the rounding of weights",
        path="kernels/selection.py",
        old="astype(np.uint64) + self._spare",
        new="astype(np.uint64)",
        tests=("kernels/test_ceilings.py",),
    ),
    Mutation(
        id="c01",
        what="a certificate's error counts one normalizer instead of two",
        path="certification/normalizer_lipschitz.py",
        old="error=2 * log_error",
        new="error=1 * log_error",
        tests=("kernels/test_rounding_bounds.py", "certification"),
    ),
    Mutation(
        id="c02",
        what="a certificate is accepted whose cap is 10 % off",
        path="mechanisms/selection.py",
        old="rel_tol=1e-12",
        new="rel_tol=0.11",
        tests=("certification/test_forged_certificates.py",),
    ),
    Mutation(
        id="c03",
        what="the search for a local rate looks where a metric rate lies",
        path="certification/rate_losses.py",
        old="return self._within_local() if self._local else None",
        new="return None",
        tests=("certification/test_one_rate.py",),
    ),
    Mutation(
        id="c04",
        what="a certificate may claim 0.1 % less than its repetition found",
        path="promises/certificates.py",
        old="a < b * (1 - CLAIM_MARGIN)",
        new="a < b * (1 - 1e-3)",
        tests=("certification/test_certificates.py",),
    ),
    Mutation(
        id="t01",
        what="an IBAN has at most six groups",
        path="text/patterns.py",
        old="(?: ?[A-Z0-9]{{4}}){{2,7}}",
        new="(?: ?[A-Z0-9]{{4}}){{2,5}}",
        tests=("text/test_tokenizer.py",),
    ),
    Mutation(
        id="g01",
        what="promises per token and per document are compared",
        path="promises/guarantees.py",
        old='"scope", "unit")',
        new='"scope")',
        tests=("foundations/test_guarantees.py",),
    ),
    Mutation(
        id="g05",
        what="releases that read texts otherwise are added up",
        path="promises/release.py",
        old="_reading(options), assuming",
        new="_reading(TextOptions()), assuming",
        tests=("pipeline/test_domains.py",),
    ),
    Mutation(
        id="g06",
        what="the code of a user's functions is not part of what its class is",
        path="promises/class_digests.py",
        old="found.append(repr((part.co_code, part.co_exceptiontable, counts, names, constants)))",
        new="found.append(repr((counts, names)))",
        tests=("foundations/test_class_digests.py",),
    ),
    Mutation(
        id="g02",
        what="local DP forgets that distances stop growing",
        path="promises/guarantees.py",
        old="diameter = min(diameter, guarantee.largest_distance)",
        new="diameter = diameter if math.isfinite(diameter) else guarantee.largest_distance",
        tests=("foundations/test_guarantees.py",),
    ),
    Mutation(
        id="g03",
        what="several tokens pay the slack of one",
        path="promises/guarantees.py",
        old="guarantee.slack * len(distances)",
        new="guarantee.slack",
        tests=("foundations/test_guarantees.py",),
    ),
    Mutation(
        id="g04",
        what="each of two bounds takes the whole alpha",
        path="auditing/intervals.py",
        old="lower_bound(self.hits_first, self.n, self.alpha / 2)",
        new="lower_bound(self.hits_first, self.n, self.alpha)",
        tests=("auditing/test_intervals.py",),
    ),
    Mutation(
        id="r01",
        what="a stream keeps its seated generators after a fork",
        path="randomness.py",
        old="        self._key = os.urandom(KEY_BYTES)\n        self._lanes = {}\n        self._seated = {}\n",
        new="        self._key = os.urandom(KEY_BYTES)\n",
        tests=("foundations/test_randomness.py",),
    ),
    Mutation(
        id="r03",
        what="a generator keeps half a random word from document to document",
        path="randomness.py",
        old='        self._state["has_uint32"] = 0\n',
        new="",
        tests=("foundations",),
        equivalent="nobody draws 32-bit numbers",
    ),
    Mutation(
        id="s01",
        what="stand-ins of unknown words come from the mechanism's own lane",
        path="pipeline/ids.py",
        old="UNKNOWN_LANE, TYPED_LANE = 255, 254",
        new="UNKNOWN_LANE, TYPED_LANE = 0, 254",
        tests=("pipeline/test_domains.py",),
    ),
    Mutation(
        id="s05",
        what="surrogates of typed tokens come from the lane of stand-ins",
        path="pipeline/ids.py",
        old="UNKNOWN_LANE, TYPED_LANE = 255, 254",
        new="UNKNOWN_LANE, TYPED_LANE = 255, 255",
        tests=("pipeline/test_domains.py",),
    ),
    Mutation(
        id="t04",
        what="surrogates take the casing of the tokens they stand for",
        path="text/reference.py",
        old='Reading((code,), ("", ""), (0,))',
        new='Reading((code,), ("", ""), (shape(token),))',
        tests=("text/test_surrogates.py",),
    ),
    Mutation(
        id="t05",
        what="the upper half of the surrogates is never drawn",
        path="text/surrogates.py",
        old="np.uint64(64 - GENERATORS[name].bits)",
        new="np.uint64(65 - GENERATORS[name].bits)",
        tests=("text/test_surrogates.py",),
    ),
    Mutation(
        id="n01",
        what="counts of a grid's law are rounded down",
        path="promises/number_grids.py",
        old="-(-counts[-1] * a // WORD)",
        new="max(1, counts[-1] * a // WORD)",
        tests=("foundations/test_number_grids.py",),
    ),
    Mutation(
        id="n02",
        what="the last count of a grid's law does not stand for the tail behind it",
        path="promises/number_grids.py",
        old="-(-counts[-1] * a // (WORD - a))",
        new="-(-counts[-1] * a // WORD | 0)",
        tests=("foundations/test_number_grids.py",),
    ),
    Mutation(
        id="t02",
        what="letter numbers such as Roman numerals are no numbers",
        path="text/characters.py",
        old='_NUMBER = frozenset({"Nd", "Nl", "No"})',
        new='_NUMBER = frozenset({"Nd", "No"})',
        tests=("text",),
    ),
    Mutation(
        id="t03",
        what="public words are found in lower case only, so that a sharp s hides them",
        path="text/reference.py",
        old='unicodedata.normalize("NFC", plain_spelling(word)).casefold()',
        new='unicodedata.normalize("NFC", plain_spelling(word)).lower()',
        tests=("text/test_encoding.py",),
    ),
    Mutation(
        id="s02",
        what="sanitizers with other candidates share noise under one key",
        path="pipeline/noise_domains.py",
        old='"candidates": origin.candidates_checksum,',
        new='"candidates": "",',
        tests=("pipeline/test_domains.py",),
    ),
    Mutation(
        id="s03",
        what="sanitizers with other options share noise under one key",
        path="pipeline/noise_domains.py",
        old='"options": options.choices(),',
        new='"options": {},',
        tests=("pipeline/test_domains.py",),
    ),
    Mutation(
        id="s04",
        what="other lists beside equal words share noise under one key",
        path="pipeline/noise_domains.py",
        old='setting["public data"] = origin.public_data',
        new='setting["public data"] = ""',
        tests=("vocabulary/test_stored_lists.py",),
    ),
    Mutation(
        id="d01",
        what="a run key that its group can read is accepted",
        path="files/run_key.py",
        old="mode & 0o077",
        new="mode & 0o007",
        tests=("documents/test_resume.py",),
    ),
    Mutation(
        id="d02",
        what="the identity of an input leaves out its last megabyte",
        path="files/journal.py",
        old='hashlib.file_digest(file, "sha256").hexdigest()',
        new="hashlib.sha256(file.read()[: -1 << 20]).hexdigest()",
        tests=("documents/test_resume.py",),
    ),
    Mutation(
        id="d03",
        what="metadata of Parquet fields inside other columns is copied",
        path="documents/arrow_types.py",
        old="decoded=decoded), field.nullable)",
        new="decoded=decoded), field.nullable, field.metadata)",
        tests=("documents/test_parquet.py",),
    ),
    Mutation(
        id="d04",
        what="a number in a text column is copied where records without text are kept",
        path="documents/json_walker.py",
        old='        self._jump(text, at, end)\n        self._pending += "null"\n',
        new="",
        tests=("documents/test_missing.py",),
    ),
    Mutation(
        id="d05",
        what="the run key stays until the output is published",
        path="pipeline/run.py",
        old="        remove_run_key(run_key_path(target))  # nothing is left to draw\n",
        new="",
        tests=("pipeline/test_runs.py",),
    ),
    Mutation(
        id="i01",
        what="two values of a conversation may share a surrogate",
        path="integrations/conversation.py",
        old="while drawn in taken:",
        new="while False:",
        tests=("integrations/test_conversation.py",),
    ),
    Mutation(
        id="i02",
        what="a user who repeats a reply is passed on verbatim",
        path="integrations/conversation.py",
        old='if role == "assistant" and (own :=',
        new="if (own :=",
        tests=("integrations/test_conversation.py",),
    ),
    Mutation(
        id="i03",
        what="two owners share a conversation",
        path="integrations/conversation.py",
        old='hashlib.blake2b(owner.encode("utf-8", "surrogatepass"), key=self._key)',
        new='hashlib.blake2b(b"", key=self._key)',
        tests=("integrations/test_conversation.py",),
    ),
    Mutation(
        id="i04",
        what="private values are restored inside of addresses",
        path="integrations/restoring.py",
        old="if not self._around.open:",
        new="if self._around._before.isalnum():",
        tests=("integrations/test_restoring.py",),
    ),
    Mutation(
        id="i05",
        what="a surrogate that is cut between pieces is not restored",
        path="integrations/restoring.py",
        old="if end == len(text) and not last:",
        new="if end == len(text) and not last and start == 0:",
        tests=("integrations/test_restoring.py",),
    ),
    Mutation(
        id="i06",
        what="fields of a request that nobody listed are sent",
        path="integrations/chat.py",
        old='    raise RefusedError(f"the request may hold',
        new='    return value\n    raise RefusedError(f"the request may hold',
        tests=("integrations/test_proxy.py",),
    ),
    Mutation(
        id="i07",
        what="an unexpected error is repeated to whoever logs it",
        path="integrations/chat.py",
        old='raise RefusedError(f"{type(error).__name__} while releasing.") from None',
        new="raise RefusedError(str(error)) from None",
        tests=("integrations/test_proxy.py",),
    ),
)
