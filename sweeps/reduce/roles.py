"""What a field of a configuration means for its size, told by its name: one ordered table, the first match holds."""

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final


class Role(StrEnum):
    """How a number shrinks."""

    QUERIES = "queries"
    VOCABULARY = "vocabulary"
    ROUTED = "routed"
    """Experts that a token is sent to."""
    GROUPS = "groups"
    """Groups that experts are chosen from."""
    EXPERTS = "experts"
    TOKEN = "token"
    """The number of a special token."""
    WINDOW = "window"
    POSITIONS = "positions"
    LAYER = "layer"
    """Numbers of layers that something is taken from."""
    IMAGE = "image"
    """Height and width of an image, in pixels."""
    KV_HEADS = "kv_heads"
    HEAD_SIZE = "head_size"
    HEADS = "heads"
    LAYERS = "layers"
    DROPOUT = "dropout"
    KEPT = "kept"
    WIDTH = "width"
    NONE = "none"


_TABLE: Final = (
    (Role.DROPOUT, r"dropout|drop_path|drop_rate|layerdrop|layer_drop|_drop$|pdrop|attn_drop"),
    (Role.QUERIES, r"^(num_quer(y|ies)|num_object_queries|num_proposals|n_queries|two_stage_num_proposals"
                   r"|num_denoising|num_latents|query_length|num_query_tokens|num_image_queries)$"),
    (Role.VOCABULARY, r"vocab_size(_per_layer_input)?$|group_vocab$|^n_vocab$|codebook_size$"
                      r"|^num_embeddings$|^n_codes$"),
    (Role.ROUTED, r"experts_per_tok(en)?$|^moe_top_?k$|^num_selected_experts$|^top_k_experts$|^moe_k$|^router_top_k$"
                  r"|^experts_per_token$|^num_activated_experts$"),
    (Role.GROUPS, r"^(n_group|num_expert_group|topk_group|n_expert_groups)$"),
    (Role.TOKEN, r"(token|bos|eos|pad|sep|cls|mask)_(token_)?(id|index)s?$|_token_ids?$|token_index$"
                 r"|(bos|eos|pad|sep|cls)_id$|^(image|video|audio)_token$"),
    (Role.KEPT, r"shared_experts?$|shared_expert_num"),
    (Role.EXPERTS, r"^(moe_)?(num|n)_(local_|routed_)?experts$|num_(local_)?experts$|^moe_.*experts$"),
    (Role.WINDOW, r"^(sliding_window(_size)?|attention_chunk_size|local_attention|.*sliding_window(_size)?"
                  r"|window_size_left|swa_window.*)$"),
    (Role.POSITIONS, r"max_position|^n_positions$|^n_ctx$|max_seq(uence)?_?len(gth)?$|max_(source|target)_pos"
                     r"|^context_length$|^seq_length$|^model_max_length$|^max_seqlen$|^max_context_length$|max_positions$"),
    (Role.LAYER, r"_indexes$|(layer|block|attn|out|hidden|feature|stage)s?_(ind|idx)|^out_(indices|layers)$|fullatt"
                 r"|global_attn_ind|vision_feature_(layers?|select_layer)|^feature_layers?$|select_layer$"
                 r"|^reassemble_layers$|^cross_attention_layers$|full_attn_idxs|^window_attn_skip|attention_layers_idx"),
    (Role.IMAGE, r"(^|_)(image_size|img_size|(?<!adapter_)input_size|resolution|input_resolution|spec_size)$"),
    (Role.KV_HEADS, r"key_value_heads$|kv_heads$|^multi_query_group_num$"),
    (Role.HEAD_SIZE, r"head_dim$|head_size$|^d_kv$|attention_key_size$|^d_head$|head_width$|head_channels$"
                     r"|^kv_channels$|^rotary_dim$|mamba_d_head|mamba_headdim"),
    (Role.HEADS, r"^n_heads?$|^n_head$|(^|_)(num_|n_)?(attention_|attn_|self_attention_|cross_attention_|mha_)?heads$"
                 r"|num_attention_heads$|index_n_heads|_n_heads$"),
    (Role.KEPT, r"^(num_feat_extract_layers|num_residual_layers|num_adapter_layers|num_lstm_layers|num_conv_layers)$"
                r"|net_layers$|_predictor_layers$|nextn_predict_layers$|conv.*layers$|(mlp|lstm|head|pred)_layers$"
                r"|pool.*layers$|max_window_layers|kv_shared_layers"),
    (Role.LAYERS, r"(^|_)n_layers?$|(^|_)(num_)?(hidden_|encoder_|decoder_|transformer_|transformers_|attention_"
                  r"|memory_attention_num_|self_attends_per_)?layers$|num_hidden_layers$|^(resampler_)?depth$"
                  r"|^n?u?m?_?n?_?blocks$|num_self_attends_per_block|prosody_num_.*layers|_num_layers$|^pre_blocks$"),
    (Role.WIDTH, r"(upsample|conv|sampling)_groups$|codebook_dim$|initial_channels?$"),
    (Role.KEPT, r"rope|theta|_cost|coefficient|_weight|temperature|rate$|hop_length|fft|win_length|frame|kernel|stride"
                r"|padding|dilation|_ratio|factor|scale|num_channels|in_channels|ignore_index|seed|mel|num_labels"
                r"|chunk|patch|timestep|version|sample|fps|duration|num_codebooks|num_quantizers|downsampl|bucket"
                r"|distance|tokens_per|num_image|token_type|type_vocab|top_?k|_tp$|interval|period|offset|step|pattern"
                r"|freq|num_classes|max_2d|max_depth|pos_size|lags|prediction_length|interpol|grid|num_codevector"
                r"|num_negatives|points|max_num|relative|max_entity|entity_vocab|roi|xpath|fourier|act_dim|state_dim"
                r"|max_ep|coord|block_size|num_random|axis|anchor|num_token|prompt|register|codebook|seconds|min_|max_"
                r"|window|merge_size|tubelet|cutoffs|feat_per_time"),
    (Role.WIDTH, r"dim|size|channel|width|hidden|ffn|inner|mlp|embd|rank|filters|d_ff|d_model|embed|feat|_units|d_ssm"
                 r"|conv_dim|depths?_to|groups$"),
)  # fmt: skip

_COMPILED: Final = tuple((role, re.compile(pattern)) for role, pattern in _TABLE)
_HIDDEN: Final = re.compile(
    r"^(hidden_size|d_model|n_embd|embed_dim|emb_dim|hidden_dim|hidden_channels|dim|width|output_dim|out_dim)$"
    r"|hidden_size$|embed_dim$|hidden_dim$|projection_dim$|_dim_size$|hidden_sizes$|embed_dims$"
)
_MAIN: Final = re.compile(
    r"^(hidden_size|d_model|n_embd|embed_dim|emb_dim|hidden_dim|dim|hidden_channels|width|.*_hidden_size|encoder_hidden_dim)$"
)


@lru_cache(maxsize=16_384)
def role_of(name: str) -> Role:
    """The role of a field."""
    return next((role for role, pattern in _COMPILED if pattern.search(name)), Role.NONE)


@lru_cache(maxsize=16_384)
def is_hidden(name: str) -> bool:
    """Whether heads divide this width: it stays a multiple of 32."""
    return bool(_HIDDEN.search(name)) and role_of(name) is not Role.HEAD_SIZE


@lru_cache(maxsize=16_384)
def is_main(name: str) -> bool:
    """Whether this is the width of a stream of hidden states, by which the whole tree is scaled."""
    return bool(_MAIN.match(name)) and role_of(name) is not Role.HEAD_SIZE
