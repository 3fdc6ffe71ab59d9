"""Images and videos: whole ones, or patches with the grid that they come from."""

from typing import Any, Final

from sweeps.inputs.filling import Given, constant, normal, uniform, values
from sweeps.inputs.wants import BATCH, Wants, first, number

_GRIDS: Final = ("grid_thw", "image_grid_thw", "image_grid_hw")
_PATCHES: Final = ("pixel_values", "hidden_states", "hidden_state", "x")
_CHANNELS: Final = ("num_channels", "in_channels", "in_chans", "num_input_channels", "in_channel")
_SIDES: Final = ("image_size", "input_size", "img_size", "input_resolution")
_FRAMES: Final = ("num_frames", "frames_per_clip", "frames")


def add(wants: Wants, given: Given) -> None:
    """Give the images and videos that a model asks for."""
    images = wants.takes("pixel_values") and (wants.has("image") or wants.has("video") or wants.central("pixel_values"))
    if "image" in wants.style.without:
        images = False
    if any(name in wants.required for name in _GRIDS) or (images and wants.takes(*_GRIDS)):
        _patches(wants, given)
    elif images:
        _images(wants, given)
    if wants.takes("pixel_values_videos") and "video" not in wants.style.without:
        _videos(wants, given, also_images=images)


def _patches(wants: Wants, given: Given) -> None:
    """Patches in a row, and for each image how many there are in time, height and width."""
    seeing = wants.vision
    patch, frames = number(seeing, "patch_size", default=14), number(seeing, "temporal_patch_size", default=1)
    merged = max(1, number(seeing, "spatial_merge_size", "merge_size", default=2))
    side, grid = 2 * merged, next(name for name in _GRIDS if wants.takes(name))
    given[grid] = values([[side, side] if grid == "image_grid_hw" else [1, side, side]] * BATCH)
    name = next((each for each in _PATCHES if wants.takes(each)), "pixel_values")
    given[name] = normal(BATCH * side * side, channels(wants) * frames * patch * patch)
    for name in ("merge_sizes", "image_merge_sizes"):
        if wants.takes(name):
            given[name] = values([merged] * BATCH)


def channels(wants: Wants) -> int:
    """Channels of an image."""
    return number(wants.vision, *_CHANNELS) or number(wants.config, *_CHANNELS, default=3)


def sides(wants: Wants) -> tuple[int, int]:
    """Height and width of an image in pixels."""
    for node in (wants.vision, wants.config):
        for name in _SIDES:
            found = _sides(getattr(node, name, None))
            if found is not None:
                return found
    side = _enough(number(wants.config, "num_queries"))
    return side, side


def _enough(queries: int) -> int:
    """The side of an image of no told size: detectors choose their queries among cells of 8, 16 and 32 pixels."""
    return next((side for side in (64, 128, 256) if 21 * (side // 32) ** 2 >= queries), 640)


def _sides(size: Any) -> tuple[int, int] | None:
    if isinstance(size, dict) and size:
        height = first(size) or 64
        return height, first(size.get("width")) or height
    if isinstance(size, list | tuple) and size and all(isinstance(each, int) for each in size):
        return (size[0], size[1]) if len(size) > 1 else (size[0], size[0])
    return (size, size) if isinstance(size, int) and not isinstance(size, bool) and size > 0 else None


def _images(wants: Wants, given: Given) -> None:
    colours, (height, width) = channels(wants), sides(wants)
    if wants.takes("spatial_shapes", "image_spatial_shapes"):
        _shaped_patches(wants, given, colours)
    elif "video" in wants.declared and "image" not in wants.declared and not wants.takes("pixel_values_videos"):
        frames = number(wants.config, *_FRAMES) or number(wants.vision, *_FRAMES, default=2)
        given["pixel_values"] = normal(BATCH, frames, colours, height, width)
    else:
        frames = number(wants.config, *_FRAMES) or number(wants.vision, *_FRAMES, default=1)
        tiles = 2 if hasattr(wants.config, "image_grid_pinpoints") else frames
        several = (tiles,) if wants.style.several_images or tiles != frames else ()
        given["pixel_values"] = normal(BATCH, *several, colours, height, width)
    _beside(wants, given, height, width)


def _sized(wants: Wants) -> bool:
    """Whether images may be of different sizes; some models take sizes that only other towers than theirs read."""
    several = hasattr(wants.config, "image_grid_pinpoints") or "image_sizes" in wants.required
    return several or getattr(wants.vision, "model_type", "") != "clip_vision_model"


def _shaped_patches(wants: Wants, given: Given, colours: int) -> None:
    patch = number(wants.vision, "patch_size", default=16)
    given["pixel_values"] = normal(BATCH, 16, colours * patch * patch)
    given["spatial_shapes" if wants.takes("spatial_shapes") else "image_spatial_shapes"] = values([[4, 4]] * BATCH)
    if wants.takes("pixel_attention_mask"):
        given["pixel_attention_mask"] = constant(1, BATCH, 16)


def _beside(wants: Wants, given: Given, height: int, width: int) -> None:
    """What goes with whole images: their sizes, masks, the patches that are hidden."""
    if wants.takes("image_sizes") and _sized(wants):
        given["image_sizes"] = values([[height, width]] * BATCH)
    if "pixel_mask" in wants.required:
        given["pixel_mask"] = constant(1, BATCH, height, width)
    patch = max(1, number(wants.vision, "patch_size", default=16))
    count = (height // patch) * (width // patch)
    if wants.takes("noise") and "image" in wants.declared:
        given["noise"] = uniform(BATCH, count)
    pretraining = "ForMaskedImageModeling" in wants.class_name or "ForPreTraining" in wants.class_name
    if "bool_masked_pos" in wants.required or (pretraining and wants.takes("bool_masked_pos")):
        tube = number(wants.config, "tubelet_size")
        cells = count * (given["pixel_values"].shape[1] // tube) if tube else count
        given["bool_masked_pos"] = values([[at < cells // 2 for at in range(cells)]] * BATCH, dtype="bool")


def _videos(wants: Wants, given: Given, *, also_images: bool) -> None:
    """Videos as frames, or as patches with their grid; beside images where the model takes both."""
    if wants.takes("video_grid_thw") and also_images:
        grid = given.get("image_grid_thw")
        if grid is not None:
            given["video_grid_thw"] = grid
            given["pixel_values_videos"] = normal(*given["pixel_values"].shape)
            if wants.takes("video_merge_sizes"):
                given["video_merge_sizes"] = given["image_merge_sizes"]
        return
    if also_images and "pixel_values_videos" not in wants.required:
        return
    colours, (height, width) = channels(wants), sides(wants)
    frames = number(wants.config, *_FRAMES) or number(wants.vision, *_FRAMES, default=2)
    given["pixel_values_videos"] = normal(BATCH, frames, colours, height, width)
