// The files of tests/golden: one for each kind of vector, and one for each release of a kind that
// is recorded by release. Those of real recurrences are in a folder of their own.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sessions/conformance/recognise.h"
#include "sessions/conformance/vector_kinds.h"
#include "tests/support/golden.h"

namespace hybridscope::test {

struct GoldenVectorFile {
  const VectorKind* kind = nullptr;
  std::string name;  // in tests/golden, without .jsonl.zst: "releases/split_0.33.0"
  std::optional<Release> release = {};

  // For the name of a test: "release_split_0_33_0".
  std::string test_name() const {
    std::string text(kind->name);
    if (release) text += "_" + std::string(release_name(*release));
    std::ranges::replace(text, '.', '_');
    return text;
  }
};

inline std::vector<GoldenVectorFile> golden_vector_files() {
  std::vector<GoldenVectorFile> files;
  for (const VectorKind& kind : vector_kinds()) {
    if (!kind.is_of_a_release()) {
      const std::string folder = kind.numeric_op != nullptr ? "numeric/" : "";
      files.push_back({&kind, folder + std::string(kind.name)});
      continue;
    }
    for (const std::string_view release : release_names()) {
      const std::string name =
          "releases/" + std::string(kind.word_before_release) + "_" + std::string(release);
      if (std::filesystem::exists(golden_path(name)))
        files.push_back({&kind, name, parse_release(release)});
    }
  }
  return files;
}

// Those whose answers are JSON, or floats of real recurrences.
inline std::vector<GoldenVectorFile> golden_vector_files(bool numeric) {
  std::vector<GoldenVectorFile> files = golden_vector_files();
  std::erase_if(files, [&](const GoldenVectorFile& file) {
    return (file.kind->numeric_op != nullptr) != numeric;
  });
  return files;
}

}  // namespace hybridscope::test
