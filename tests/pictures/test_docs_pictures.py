#!/usr/bin/env python3
"""The pictures that people see without a build are those that the build makes.

    test_docs_pictures.py SOURCE_FOLDER FOLDER_OF_MADE_PICTURES

Where the same releases of cairo and of the fonts are installed as where they were made
(docs/images/drawn-by.txt), every pixel. Elsewhere letters look a little different; but cells, curves,
colours, marks and the places of all of them must be the same.
"""
import os
import re
import sys
import unittest

import drawn_by
import png_pixels

SOURCE, MADE = sys.argv[1:3]
IMAGES = os.path.join(SOURCE, "docs", "images")
STALE = "it is stale: run ./dev pictures, and look at it"
MOST_DIFFERENT = 0.02  # of the pixels: all letters together are about as many


def is_same_machinery():
    with open(os.path.join(IMAGES, "drawn-by.txt"), encoding="utf-8") as file:
        return drawn_by.is_known(drawn_by.describe()) and file.read().strip() == drawn_by.describe()


def listed():
    with open(os.path.join(IMAGES, "pictures.txt"), encoding="utf-8") as file:
        return [line.split()[0] for line in file if line.strip() and not line.startswith("#")]


def documents():
    yield os.path.join(SOURCE, "README.md"), SOURCE
    docs = os.path.join(SOURCE, "docs")
    for name in os.listdir(docs):
        if name.endswith(".md"):
            yield os.path.join(docs, name), docs


class DocsPictures(unittest.TestCase):
    def test_pictures_are_those_that_the_build_makes(self):
        for name in listed():
            with self.subTest(name):
                ours, made = (png_pixels.read(os.path.join(folder, name)) for folder in (IMAGES, MADE))
                self.assertEqual(ours[:3], made[:3], "another size: run ./dev pictures")
                if is_same_machinery():
                    self.assertEqual(png_pixels.count_different(ours, made, 1), 0, STALE)
                else:
                    self.assertLess(png_pixels.count_different(ours, made), MOST_DIFFERENT, STALE)

    def test_every_picture_is_listed(self):
        there = sorted(name for name in os.listdir(IMAGES) if name.endswith((".png", ".svg")))
        self.assertEqual(there, sorted(listed()))

    def test_documents_name_pictures_that_are_there(self):
        shown = []
        for path, folder in documents():
            with open(path, encoding="utf-8") as file:
                for target in re.findall(r"!\[[^]]*\]\(([^)]+)\)", file.read()):
                    shown.append(target)
                    self.assertTrue(os.path.exists(os.path.join(folder, target)), f"{path}: {target}")
        self.assertTrue(shown)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
