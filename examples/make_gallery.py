"""Draw every example and write docs/gallery: `python examples/make_gallery.py [NAME ...]`."""

import io
import sys
from importlib import import_module
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from PIL import Image

HERE = Path(__file__).resolve().parent
GALLERY = HERE.parent / "docs" / "gallery"
LIMIT = 60_000  # bytes a figure may take


def main(names):
    sys.path.insert(0, str(HERE))
    every = sorted(path.stem for path in HERE.glob("plot_*.py"))
    for name in names or every:
        write(import_module(name).draw(), GALLERY / f"{name.removeprefix('plot_')}.png")
    (GALLERY / "README.md").write_text(index(every))


def write(figure, path):
    """Save as a small image with a palette of 200 colours."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=110, metadata={"Software": None})
    plt.close(figure)
    small = Image.open(drawn).convert("RGB").quantize(200, dither=Image.Dither.NONE)
    path.parent.mkdir(parents=True, exist_ok=True)
    small.save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.name}  {size / 1000:.0f} kB")
    if size > LIMIT:
        raise SystemExit(f"{path.name} takes {size} bytes; a figure may take {LIMIT}. Draw fewer points")


def index(names):
    """The page that shows them all."""
    parts = ["# Gallery\n\nDrawn by `python examples/make_gallery.py`, on data that come with the package.\n"]
    for name in names:
        title, _, text = (import_module(name).__doc__ or "").strip().partition("\n\n")
        short = name.removeprefix("plot_")
        source = f"[examples/{name}.py](../../examples/{name}.py)"
        parts.append(
            f"## {short.replace('_', ' ').capitalize()}\n\n{title}\n\n![{title}]({short}.png)\n\n{text}\n\n{source}\n"
        )
    return "\n".join(part.replace("\n\n\n\n", "\n\n") for part in parts)


if __name__ == "__main__":
    main(sys.argv[1:])
