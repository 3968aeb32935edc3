#include "tests/sessions/lessons/lesson_sample.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sessions/lessons/lesson_reader.h"

namespace hybridscope::test {
namespace {

Result<Lesson> parse(const nlohmann::json& document) {
  const std::string text = document.dump();
  return parse_lesson({.text = text, .file = "lesson.json"}, [](const std::string& path) {
    return Result<std::string>(Error{ErrorKind::io, path + ": cannot be opened"});
  });
}

}  // namespace

nlohmann::json sample_lesson() {
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

Lesson read_sample(const nlohmann::json& document) {
  auto lesson = parse(document);
  EXPECT_TRUE(lesson.ok()) << lesson.error().message;
  return lesson.ok() ? std::move(lesson).value() : Lesson{};
}

std::string sample_error(const nlohmann::json& document) {
  const auto lesson = parse(document);
  return lesson.ok() ? "no error" : lesson.error().message;
}

}  // namespace hybridscope::test
