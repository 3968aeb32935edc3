// The files of tests/golden: one for each kind of vector, and one for each release of a kind that
// is recorded by release, and for each whole model. Those of real recurrences are in a folder of
// their own.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sessions/conformance/conformance.h"
#include "sessions/conformance/recognise.h"
#include "sessions/conformance/vector_kinds.h"
#include "tests/support/golden.h"

namespace hybridscope::test {

struct GoldenVectorFile {
  const VectorKind* kind = nullptr;
  std::string name;  // in tests/golden, without .jsonl.zst: "releases/split_0.33.0"
  std::optional<Release> release = {};

  // What check_vector is told of it.
  VectorFile place() const {
    return {.release = release,
            .folder = std::filesystem::path(golden_path(name)).parent_path().string()};
  }

  // For the name of a test: "release_split_0_33_0", "model_bamba".
  std::string test_name() const {
    std::string text(kind->of_model ? name.substr(name.find('/') + 1) : std::string(kind->name));
    if (release) text += "_" + std::string(release_name(*release));
    std::ranges::replace(text, '.', '_');
    return text;
  }
};

inline std::vector<GoldenVectorFile> golden_vector_files() {
  std::vector<GoldenVectorFile> files;
  for (const VectorKind& kind : vector_kinds()) {
    if (kind.of_model) {
      for (const char* model : {"bamba", "lfm2", "qwen3_5_text"})
        files.push_back({&kind, std::string("numeric/model_") + model});
      continue;
    }
    if (!kind.is_of_a_release()) {
      const std::string folder = kind.numeric_op != nullptr ? "numeric/"
                                 : kind.answers != nullptr  ? "models/"
                                                            : "";
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

// Those whose answers are JSON, or the ones of one operation of a real recurrence.
inline std::vector<GoldenVectorFile> golden_vector_files(bool numeric) {
  std::vector<GoldenVectorFile> files = golden_vector_files();
  std::erase_if(files, [&](const GoldenVectorFile& file) {
    return numeric ? file.kind->numeric_op == nullptr : file.kind->recompute == nullptr;
  });
  return files;
}

}  // namespace hybridscope::test
