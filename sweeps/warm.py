"""Imported by the fork server: torch and what every model of transformers imports. Starts no device and no thread."""

import torch
import transformers.cache_utils
import transformers.masking_utils
import transformers.modeling_layers
import transformers.modeling_outputs
import transformers.modeling_utils
import transformers.models.auto.modeling_auto
import transformers.models.bert.modeling_bert
import transformers.models.llama.modeling_llama

from sweeps import architectures, configs

__all__ = ["architectures", "configs", "torch", "transformers"]
