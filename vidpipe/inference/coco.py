"""The classes of COCO, by whose number a detector without labels is known to be trained on it.

Eighty classes have pictures; their ids in COCO's own files run from 1 to 90, with gaps. Most
detectors count the eighty; those of TensorFlow's Object Detection API keep COCO's ids. Source:
`instances_val2017.json` of COCO 2017, its section "categories".
"""

from __future__ import annotations

from itertools import count

_GAPS = frozenset({12, 26, 29, 30, 45, 66, 68, 69, 71, 83})
"""Ids that COCO gave to classes without pictures."""

_NAMES = (
    "person,bicycle,car,motorbike,aeroplane,bus,train,truck,boat,traffic light,"
    "fire hydrant,stop sign,parking meter,bench,bird,cat,dog,horse,sheep,cow,elephant,bear,"
    "zebra,giraffe,backpack,umbrella,handbag,tie,suitcase,frisbee,skis,snowboard,"
    "sports ball,kite,baseball bat,baseball glove,skateboard,surfboard,tennis racket,"
    "bottle,wine glass,cup,fork,knife,spoon,bowl,banana,apple,sandwich,orange,broccoli,"
    "carrot,hot dog,pizza,donut,cake,chair,sofa,pottedplant,bed,diningtable,toilet,"
    "tvmonitor,laptop,mouse,remote,keyboard,cell phone,microwave,oven,toaster,sink,"
    "refrigerator,book,clock,vase,scissors,teddy bear,hair drier,toothbrush"
)

COCO_80: tuple[str, ...] = tuple(_NAMES.split(","))
"""The classes in their order, as the file `coco.names` of Darknet spells them."""

_OFFICIAL_SPELLINGS = {
    "motorbike": "motorcycle",
    "aeroplane": "airplane",
    "sofa": "couch",
    "pottedplant": "potted plant",
    "diningtable": "dining table",
    "tvmonitor": "tv",
}
"""What the other spelling is, that of COCO's own files."""

_OFFICIAL = tuple(_OFFICIAL_SPELLINGS.get(name, name) for name in COCO_80)


def _with_gaps() -> tuple[str, ...]:
    ids = (number for number in count(1) if number not in _GAPS)
    by_id = dict(zip(ids, COCO_80, strict=False))
    return tuple(by_id.get(number, "") for number in range(1, max(by_id) + 1))


COCO_90: tuple[str, ...] = _with_gaps()
"""The classes by COCO's ids, from id 1; empty at the gaps."""


def coco_labels(class_count: int | None) -> tuple[str, ...]:
    """Return the labels of a detector with so many classes, or none if it is not of COCO.

    Args:
        class_count: How many class ids it answers: 80 are counted in order, 90 are COCO's ids from
            1, 91 are COCO's ids from 0, where the background is.
    """
    return {80: COCO_80, 90: COCO_90, 91: ("background", *COCO_90)}.get(class_count or 0, ())


def respelt(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return labels as COCO writes them, where they are COCO's with underscores for spaces."""
    plain = tuple(name.replace("_", " ") for name in labels)
    return plain if plain in (COCO_80, _OFFICIAL) else labels


def other_spelling(name: str) -> str | None:
    """Return how else a class of COCO is spelt, or None."""
    back = {official: usual for usual, official in _OFFICIAL_SPELLINGS.items()}
    return _OFFICIAL_SPELLINGS.get(name) or back.get(name)
