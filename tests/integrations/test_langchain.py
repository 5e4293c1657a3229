"""The LangChain middleware and embeddings with the real library."""

import asyncio

import leak_free
import numpy as np
import pytest

import wordveil as wv

pytest.importorskip("langchain", reason="needs the extra langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_agent import Echo
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from wordveil.errors import WordveilError
from wordveil.integrations import chat
from wordveil.integrations.langchain import PrivateEmbeddings, WordveilMiddleware

pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning")
NOTE = "Write to maria.lindqvist@clinic.se about case B-4711; she lives in Uppsala."


class Quiet(Echo):
    """An echo that cannot stream."""

    _stream = Echo.__mro__[1]._stream


def agent(model, **settings):
    middleware = WordveilMiddleware(sanitizer=leak_free.sanitizer(), public=["Be brief."])
    return create_agent(model, middleware=[middleware], **settings), middleware


def ask(text=NOTE):
    return {"messages": [{"role": "user", "content": text}]}


def check_heard(model):
    for messages in model.heard:
        for message in messages:
            if message.content != "Be brief.":
                leak_free.check_release(message.content.removeprefix("You said: "))
            assert not message.additional_kwargs
            assert message.name is None


def test_the_model_hears_the_release_and_the_state_keeps_the_private_text():
    model = Echo()
    made, _ = agent(model, system_prompt="Be brief.")
    messages = made.invoke(ask())["messages"]
    check_heard(model)
    assert model.heard[0][0].content == "Be brief."
    assert messages[0].content == NOTE
    assert "maria.lindqvist@clinic.se" in messages[1].content
    assert "B-4711" in messages[1].content


def test_a_conversation_goes_on_over_turns_and_its_history_is_not_drawn_again():
    model = Echo()
    made, middleware = agent(model, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    made.invoke(ask(), thread)
    made.invoke(ask("And anna@clinic.se?"), thread)
    check_heard(model)
    first, second = model.heard
    assert [message.content for message in second[:1]] == [message.content for message in first]
    assert second[1].content == f"You said: {first[0].content}"
    assert len(middleware.conversations) == 2, "a turn each"


def test_an_agent_that_is_awaited_is_covered_as_well():
    model = Echo()
    made, _ = agent(model)
    said = asyncio.run(made.ainvoke(ask()))["messages"][-1].content
    check_heard(model)
    assert "maria.lindqvist@clinic.se" in said


class Adding(AgentMiddleware):
    """Adds what somebody wrote to a call of the model."""

    def __init__(self, where):
        super().__init__()
        self.added = {"system": lambda _: {"system_message": SystemMessage(NOTE)},
                      "message": lambda asked: {"messages": [HumanMessage(NOTE), *asked.messages]},
                      "name": lambda _: {"messages": [HumanMessage("Hello", name=NOTE)]}}[where]  # fmt: skip

    def wrap_model_call(self, request, handler):
        return handler(request.override(**self.added(request)))

    async def awrap_model_call(self, request, handler):
        return await handler(request.override(**self.added(request)))


@pytest.mark.parametrize("where", ["system", "message", "name"])
@pytest.mark.parametrize("call", ["invoke", "ainvoke", "stream_events"])
def test_what_middleware_adds_is_released_before_it_and_refused_behind_it(where, call):
    def asked(model, *middleware):
        made = create_agent(model, middleware=middleware)
        if call == "ainvoke":
            asyncio.run(made.ainvoke(ask()))
        elif call == "invoke":
            made.invoke(ask())
        else:
            assert [str(message.text) for message in made.stream_events(ask(), version="v3").messages]

    adding, veil = Adding(where), WordveilMiddleware(sanitizer=leak_free.sanitizer())
    before, behind = Echo(), Echo()
    asked(before, adding, veil)
    check_heard(before)
    assert len(before.heard[0]) == (1 if where == "name" else 2)
    with pytest.raises(WordveilError, match="put wordveil's last"):
        asked(behind, veil, adding)
    assert not behind.heard


class Behind(AgentMiddleware):
    """Tells a model what somebody wrote, without a message that looks other than the release."""

    def __init__(self, how):
        super().__init__()
        self.how, self.other = how, Told(responses=["A summary."])

    def wrap_model_call(self, request, handler):
        if self.how == "prompt":
            self.other.invoke(request.state["messages"][-1].content)
        elif self.how == "in place":
            request.messages[-1].content = NOTE
        elif self.how == "tool calls":
            calls = [{"name": "note", "args": {"text": NOTE}, "id": "1"}]
            said = (each.model_copy(update={"tool_calls": calls}) for each in request.messages[1:2])
            request = request.override(messages=[request.messages[0], *said, request.messages[2]])
        return handler(request)


class Told(FakeListLLM):
    """Keeps what it was told."""

    heard: list = []  # noqa: RUF012  # pydantic copies it

    def _call(self, prompt, *args, **kwargs):
        self.heard.append(prompt)
        return super()._call(prompt, *args, **kwargs)


@pytest.mark.parametrize("how", ["prompt", "in place", "tool calls"])
def test_no_way_of_telling_a_model_more_than_the_release_goes_by(how):
    model, behind = Echo(), Behind(how)
    made = create_agent(model, middleware=[WordveilMiddleware(sanitizer=leak_free.sanitizer()), behind])
    with pytest.raises(WordveilError, match="put wordveil's last"):
        made.invoke({"messages": [HumanMessage("Hello"), AIMessage("Hello"), HumanMessage(NOTE)]})
    assert not model.heard
    assert not behind.other.heard


@pytest.mark.parametrize("given", [[], [BaseCallbackHandler()]])
def test_a_model_with_callbacks_of_its_own_is_told_the_release_alone(given):
    model, veil = Echo(), WordveilMiddleware(sanitizer=leak_free.sanitizer())
    own = model.with_config(callbacks=given)
    create_agent(own, middleware=[Adding("message"), veil]).invoke(ask())
    check_heard(model)
    model.heard.clear()
    with pytest.raises(WordveilError, match="put wordveil's last"):
        create_agent(own, middleware=[veil, Adding("message")]).invoke(ask())
    assert not model.heard
    assert own.invoke(NOTE), "nothing is refused outside of the agent"


@pytest.mark.parametrize("model", [Echo, Quiet])
def test_what_streams_out_is_restored(model):
    made, _ = agent(model())
    run = made.stream_events(ask(), version="v3")
    streamed = ["".join(message.text) for message in run.messages]
    assert len(streamed) == 1
    assert streamed[0] == run.output["messages"][-1].text
    assert "maria.lindqvist@clinic.se" in streamed[0]
    again = made.invoke({"messages": [*run.output["messages"], HumanMessage("And then?")]})
    assert again["messages"][1].text == streamed[0]


def test_parts_of_messages_are_released_and_images_refused():
    model = Echo()
    made, _ = agent(model)
    image = {"type": "image_url", "image_url": {"url": "data:Uppsala"}}
    for content in ([image], [{"type": "text", "text": "hello"}, image]):
        with pytest.raises(WordveilError, match="images") as caught:
            made.invoke({"messages": [HumanMessage(content)]})
        assert "Uppsala" not in str(caught.value)
    assert not model.heard


@tool
def look_up(name: str) -> str:
    """Look a name up."""
    return name


def test_tools_and_tool_calls_are_refused():
    model = Echo()
    with pytest.raises(WordveilError, match="not covered"):
        agent(model, tools=[look_up])[0].invoke(ask())
    call = AIMessage("", tool_calls=[{"name": "look_up", "args": {"name": "Uppsala"}, "id": "1"}])
    for messages in ([HumanMessage("x"), call], [HumanMessage("x"), ToolMessage("Uppsala", tool_call_id="1")]):
        with pytest.raises(WordveilError, match="not covered") as caught:
            agent(model)[0].invoke({"messages": messages})
        assert "Uppsala" not in str(caught.value)
    assert not model.heard


def test_any_error_while_releasing_stops_the_call_and_says_nothing_of_the_text(monkeypatch):
    def broken(*_):
        raise RuntimeError("Uppsala")

    model = Echo()
    made, _ = agent(model)
    monkeypatch.setattr(chat, "private_messages", broken)
    with pytest.raises(WordveilError, match="RuntimeError while releasing") as caught:
        made.invoke(ask())
    assert caught.value.__suppress_context__
    assert not model.heard


class Lengths:
    """Embeddings by the length of a text."""

    def embed_documents(self, texts):
        return [[float(len(text)), 1.0] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


def test_embeddings_are_released_with_the_noise_of_the_mechanism():
    private = PrivateEmbeddings(Lengths(), wv.MultivariateLaplace(epsilon=4.0))
    rows = np.array(private.embed_documents(["four"] * 4000))
    assert private.release.guarantee.epsilon == 4.0
    grid = private.release.grid
    assert np.array_equal(np.round(rows / grid), rows / grid)
    noise = np.linalg.norm(rows - [4.0, 1.0], axis=1)
    # The norm of the noise in two dimensions is a gamma variate of shape 2: mean 2 / epsilon, variance 2 / epsilon^2.
    assert abs(noise.mean() - 0.5) < 6.2 * np.sqrt(2 / 16 / 4000)
    assert private.embed_documents([]) == []
    assert len(private.embed_query("four")) == 2
    assert private.embed_query("four") != private.embed_query("four")
