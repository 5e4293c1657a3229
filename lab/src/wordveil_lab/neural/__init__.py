"""Noise inside a PyTorch model, and the two models of Huang et al. (2024) behind it. Extra: torch.

    ids --PrivateEmbedding--> noisy vectors --BiLSTM--> words (rewriter) or a class (classifier)

Everything right of the noise is post-processing of it. The weights are another matter: a model trained on private
targets has seen them without any noise; the experiments train on public text only.
Importing this package loads no PyTorch. Its modules do, and name the extra where PyTorch is not installed.
"""
