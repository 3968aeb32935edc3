#include "sessions/conformance/recognise.h"

#include <gmock/gmock.h>

namespace hybridscope::recognise_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string by_name(const std::string& path) {
  const VectorKind* kind = recognise_by_name(path);
  return kind == nullptr ? "none" : std::string(kind->name);
}

std::string by_fields(const char* vector) {
  const auto kind = recognise_by_fields(std::vector<json>{json::parse(vector)});
  return kind.ok() ? std::string(kind.value()->name) : kind.error().message;
}

TEST(Recognise, TheTableHasEveryNameOnce) {
  std::vector<std::string_view> names;
  for (const VectorKind& kind : vector_kinds()) names.push_back(kind.name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(Recognise, AFileIsCalledAfterItsKind) {
  EXPECT_EQ(by_name("golden/gdn_builder.jsonl"), "gdn_builder");
  EXPECT_EQ(by_name("golden/gdn_builder.jsonl.zst"), "gdn_builder");
  EXPECT_EQ(by_name("hidden_mamba2_builder-large.jsonl"), "mamba2_builder");
  EXPECT_EQ(by_name("gdn_builder/other.jsonl"), "none");
}

TEST(Recognise, TheNameOfAKindIsNoPartOfAWord) {
  EXPECT_EQ(by_name("all_models.jsonl"), "none");
  EXPECT_EQ(by_name("reschedulers.jsonl"), "none");
  EXPECT_EQ(by_name("overall_mode.jsonl"), "none");
  EXPECT_EQ(by_name("all_models_all_mode.jsonl"), "all_mode");
  EXPECT_EQ(by_name("run-7.scheduler.jsonl"), "scheduler");
  EXPECT_EQ(by_name("scheduler-large.2.jsonl"), "scheduler");
}

TEST(Recognise, TheLongestNameCounts) {
  EXPECT_EQ(by_name("split_batch.jsonl"), "split_batch");
  EXPECT_EQ(by_name("more_split_batch_v2.jsonl"), "split_batch_v2");
}

TEST(Recognise, FieldsTellAFileWithoutAName) {
  EXPECT_EQ(by_fields(R"({"config": {"chunk_size": 64}, "input": {"cu_seqlens": [0]}})"),
            "fla_chunks");
  EXPECT_EQ(by_fields(R"({"config": {"chunk_size": 64}, "input": {"query_start_loc": [0]}})"),
            "varlen_chunks");
}

constexpr const char* kBuilderCase = R"({"config": {"mamba_cache_mode": "none", "block_size": 16,
  "num_spec": 1, "max_num_seqs": 4, "max_model_len": 64, "max_cudagraph_capture_size": null,
  "full_cudagraph": false, "parallel_drafting": false, "decode_context_parallel_size": 1},
  "calls": [{"op": "build_for_cudagraph_capture"}CALL]})";

TEST(Recognise, DraftCountsTellTheGdnBuilderFromTheMambaBuilder) {
  const auto with = [](const std::string& call) {
    std::string text = kBuilderCase;
    return by_fields(text.replace(text.find("CALL"), 4, call).c_str());
  };
  EXPECT_EQ(with(R"(, {"op": "build", "num_decode_draft_tokens": null})"), "gdn_builder");
  EXPECT_EQ(with(R"(, {"op": "build", "num_accepted_tokens": null})"), "mamba_builder");
}

TEST(Recognise, UnknownFieldsNameWhatWasLookedFor) {
  const std::string message = by_fields(R"({"config": {"depth": 3}, "input": {"cu_seqlens": []}})");
  EXPECT_THAT(message, HasSubstr("unknown kind of vector"));
  EXPECT_THAT(message, HasSubstr("split_batch_v2"));
  EXPECT_THAT(message, HasSubstr("{\"depth\"} with \"input\" {\"cu_seqlens\"}"));
}

TEST(Recognise, CallsAreNamedWhereTheVectorHasThem) {
  EXPECT_THAT(by_fields(R"({"config": {"depth": 3}, "calls": []})"),
              HasSubstr("{\"depth\"} with \"calls\""));
}

TEST(Recognise, WhatIsNoVectorAtAllIsUnknown) {
  for (const char* text : {"3", "[]", "{}", R"({"config": 1, "input": 2})", R"({"config": {}})"})
    EXPECT_THAT(by_fields(text), HasSubstr("unknown kind of vector")) << text;
  EXPECT_FALSE(recognise_by_fields({}).ok());
}

TEST(Recognise, EveryCaseHasTheFieldsOfItsKind) {
  const json vector = json::parse(R"({"config": {}, "input": {"cu_seqlens": [0]}})");
  try {
    open_vector(*recognise_by_name("fla_chunks"), vector);
    FAIL() << "no chunk_size";
  } catch (const JsonFault& error) {
    EXPECT_EQ(error.pointer(), "/config");
    EXPECT_STREQ(error.what(), "no member \"chunk_size\"");
  }
}

TEST(Recognise, AConfigOfANamedFileMayHaveMembersThatNobodyReads) {
  const json vector =
      json::parse(R"({"config": {"chunk_size": 4, "note": "n"}, "input": {"cu_seqlens": [0]}})");
  EXPECT_NO_THROW(open_vector(*recognise_by_name("fla_chunks"), vector));
}

TEST(Recognise, CacheHitsMayHaveTheWholeConfigOfTheCache) {
  EXPECT_EQ(by_fields(R"({"config": {"groups": [], "mamba_cache_mode": "all", "num_blocks": 4,
    "num_speculative_blocks": 0, "use_eagle": false, "scheduler_block_size": 8,
    "hash_block_size": 8, "enable_caching": true}, "input": {}})"),
            "cache_hits");
}

TEST(Recognise, FieldsOfAnotherKindThanTheNamedOneAreFound) {
  const std::vector<json> cases = {
      json::parse(R"({"config": {"chunk_size": 64}, "input": {"cu_seqlens": [0]}})")};
  const VectorKind& fla_chunks = *recognise_by_name("fla_chunks");
  EXPECT_EQ(other_kind_by_fields(*recognise_by_name("scheduler"), cases), &fla_chunks);
  EXPECT_EQ(other_kind_by_fields(fla_chunks, cases), nullptr);
  EXPECT_EQ(other_kind_by_fields(fla_chunks, {}), nullptr);
}

}  // namespace
}  // namespace hybridscope::recognise_test
