"""The commands of the laboratory, declared like those of wordveil; `wordveil_lab.offers` names them."""
