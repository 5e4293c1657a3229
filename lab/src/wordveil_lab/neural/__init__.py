"""The neural half: noise inside a PyTorch model, rewriters and classifiers trained behind it. Extra: torch.

    ids --PrivateEmbedding--> noisy vectors --BiLSTM--> words (rewriter) or a class (classifier)

Everything right of the noise is post-processing of it. The weights are another matter: a model *trained* on private
targets has seen them without any noise, so training asks for public targets, and only rewrites are released.
Importing this package loads no PyTorch; its modules do, where it is installed.
"""
