// A small lesson for tests, with pieces to change.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sessions/lessons/lesson.h"

namespace hybridscope::test {

// One part at step 2 of a run in which A (prompt 6, B = 8, K = 1) accepts its draft and reaches the
// block boundary; one question: the post-copy's destination column, 0.
nlohmann::json sample_lesson();

// The lesson of this document, which has to be one.
Lesson read_sample(const nlohmann::json& document);

// "no error", or what is wrong with the document; it is called "lesson.json".
std::string sample_error(const nlohmann::json& document);

inline Result<Lesson> parse(const nlohmann::json& document) {
  const std::string text = document.dump();
  return parse_lesson({.text = text, .file = "lesson.json"}, [](const std::string& path) {
    return Result<std::string>(Error{ErrorKind::io, path + ": cannot be opened"});
  });
}

inline nlohmann::json sample_lesson() {
  return nlohmann::json::parse(R"({
    "version": 1,
    "title": "A boundary",
    "teaches": "A copy is made.",
    "scenario": {
      "version": 1,
      "model": "tiny-mamba2",
      "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 16,
                   "max_model_len": 64, "async_scheduling": false,
                   "speculative_config": {"method": "mtp", "num_speculative_tokens": 1}},
      "requests": [{"id": "A", "prompt": 6, "max_tokens": 4}],
      "script": [{"step": 2, "accept": {"A": 2}}]
    },
    "parts": [
      {"step": 2, "text": ["Look."], "questions": [
        {"ask": "Which column?", "value": "copy.dst_col",
         "where": "copy.request==A && copy.launch==1", "answer": 0,
         "because": "{copy.aligned_new_computed} / 8 - 1 = {answer}."}]}]
  })");
}

inline Lesson read_sample(const nlohmann::json& document) {
  auto lesson = parse(document);
  EXPECT_TRUE(lesson.ok()) << lesson.error().message;
  return lesson.ok() ? std::move(lesson).value() : Lesson{};
}

inline std::string sample_error(const nlohmann::json& document) {
  const auto lesson = parse(document);
  return lesson.ok() ? "no error" : lesson.error().message;
}

}  // namespace hybridscope::test
