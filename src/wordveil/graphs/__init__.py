"""Public graphs on the vocabulary: nearest-neighbour lists, overlap graphs, components, the neighbour-rank metric."""
