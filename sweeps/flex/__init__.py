"""The suite `flex_attention`: 96 combinations of score, mask, shape and dtype, eager and compiled."""
