#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sessions/conformance/recognise.h"
#include "sessions/conformance/vector_kernels.h"
#include "sessions/conformance/vector_states.h"

namespace hybridscope::vector_table_test {
namespace {

using nlohmann::json;
using testing::IsEmpty;

// "POINTER: MESSAGE" of the JsonFault that `read` throws, "" if it throws none.
template <class Read>
std::string refusal(const json& document, Read read) {
  try {
    read(JsonValue(document));
  } catch (const JsonFault& fault) {
    return fault.pointer() + ": " + fault.what();
  }
  return "";
}

TEST(VectorTable, ARaggedTableNamesTheRow) {
  const json document = {{1, 2}, {3}};
  EXPECT_EQ(refusal(document, [](const JsonValue& top) { read_table(top); }),
            "/1: expected an array of 2 integers, found an array of 1");
}

TEST(VectorTable, HasTheShapeThatIsGiven) {
  const json document = {{"data", {{1, 2}}}, {"shape", {2, 1}}};
  EXPECT_EQ(refusal(document, [](const JsonValue& top) { read_table(top["data"], top["shape"]); }),
            "/shape: expected the shape of the table, [1, 2], found [2, 1]");
}

TEST(VectorTable, AnEmptyOneTakesItsColumnsFromTheShape) {
  const json document = {{"data", json::array()}, {"shape", {0, 5}}};
  const JsonValue top(document);
  const VectorTable table = read_table(top["data"], top["shape"]);
  EXPECT_EQ(table.rows, 0);
  EXPECT_EQ(table.cols, 5);
  EXPECT_THAT(table.data, IsEmpty());
}

TEST(VectorTable, MayHaveRowsWithoutColumns) {
  const json document = json::parse("[[], []]");
  const VectorTable table = read_table(JsonValue(document));
  EXPECT_EQ(table.rows, 2);
  EXPECT_EQ(table.cols, 0);
}

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
  EXPECT_EQ(by_name("all_modelled.jsonl"), "none");
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

// "POINTER: EXPECTED != GOT", "" when equal.
std::string difference(const char* expected, const char* got) {
  const auto found = first_difference(json::parse(expected), json::parse(got));
  return found ? found->pointer + ": " + found->expected + " != " + found->got : "";
}

TEST(Compare, EqualDocumentsHaveNoDifference) {
  EXPECT_EQ(
      difference(R"({"a": [1, {"b": null}], "c": "x"})", R"({"c": "x", "a": [1, {"b": null}]})"),
      "");
}

TEST(Compare, AnElementIsNamedByItsIndex) {
  EXPECT_EQ(difference(R"({"a": [1, [2, 3]]})", R"({"a": [1, [2, 4]]})"), "/a/1/1: 3 != 4");
}

TEST(Compare, MembersMissingAndTooManyAreDifferences) {
  EXPECT_EQ(difference(R"({"a": 1})", "{}"), "/a: 1 != absent");
  EXPECT_EQ(difference("{}", R"({"a": null})"), "/a: absent != null");
}

TEST(Compare, ALengthIsADifferenceOfTheArrayToldWithTheFirstElementThatDiffers) {
  EXPECT_EQ(difference(R"({"a": [1, 2]})", R"({"a": [1]})"),
            "/a: 2 elements, [1] is 2 != 1 element, [1] is absent");
  EXPECT_EQ(difference(R"({"a": []})", R"({"a": [[3], 4]})"),
            "/a: 0 elements, [0] is absent != 2 elements, [0] is [3]");
  EXPECT_EQ(difference(R"({"a": [1, [2], 3]})", R"({"a": [1, [5]]})"),
            "/a: 3 elements, [1] is [2] != 2 elements, [1] is [5]");
  EXPECT_EQ(difference(R"({"data": [null, [null], 3]})", R"({"data": [7, [8]]})"),
            "/data: 3 elements, [2] is 3 != 2 elements, [2] is absent");
}

TEST(Compare, OnlyThatAnErrorHappenedHasToMatch) {
  EXPECT_EQ(difference(R"({"error": "ValueError"})", R"({"error": "block_size is 0", "more": 1})"),
            "");
  EXPECT_EQ(difference(R"({"error": "ValueError"})", R"({"value": 3})"),
            "/error: \"ValueError\" != absent");
  EXPECT_EQ(difference(R"({"value": 3})", R"({"error": "why"})"),
            R"(: {"value":3} != {"error":"why"})");
}

TEST(Compare, AnIdCalledErrorIsNoError) {
  EXPECT_EQ(difference(R"({"error": [1]})", R"({"error": [2]})"), "/error/0: 1 != 2");
}

TEST(Compare, NullInTensorDataMatchesAnything) {
  EXPECT_EQ(difference(R"({"shape": [2, 1], "data": [[null], [3]]})",
                       R"({"shape": [2, 1], "data": [[17], [3]]})"),
            "");
  EXPECT_EQ(difference(R"({"data": [null, null]})", R"({"data": [true, null]})"), "");
}

TEST(Compare, NullInTensorDataIsOneElementAndNoRow) {
  EXPECT_EQ(difference(R"({"data": [null, 1]})", R"({"data": [[5, 6], 1]})"),
            "/data/0: null != [5,6]");
  EXPECT_EQ(difference(R"({"data": [null]})", R"({"data": ["5"]})"), "/data/0: null != \"5\"");
}

TEST(Compare, NullOutsideTensorDataIsAValue) {
  EXPECT_EQ(difference(R"({"new_block_ids": [null, 1]})", R"({"new_block_ids": [7, 1]})"),
            "/new_block_ids/0: null != 7");
  EXPECT_EQ(difference(R"({"data": null})", R"({"data": [1]})"), "/data: null != [1]");
}

TEST(Compare, ANullThatWeMakeDoesNotMatchANumber) {
  EXPECT_EQ(difference(R"({"data": [3]})", R"({"data": [null]})"), "/data/0: 3 != null");
}

TEST(Compare, TypesAreComparedToo) {
  EXPECT_EQ(difference(R"([1])", "[true]"), "/0: 1 != true");
  EXPECT_EQ(difference(R"([1])", "[1.0]"), "/0: 1 != 1.0");
  EXPECT_EQ(difference(R"([-1])", "[18446744073709551615]"), "/0: -1 != 18446744073709551615");
  EXPECT_EQ(difference(R"([[]])", "[{}]"), "/0: [] != {}");
}

TEST(Compare, KeysAreEscapedAsPointersWant) {
  EXPECT_EQ(difference(R"({"a/b": 1})", R"({"a/b": 2})"), "/a~1b: 1 != 2");
}

ByteRange read(std::size_t owner, std::int64_t begin, std::int64_t end) {
  return {.buffer = 0, .begin = begin, .end = end, .owner = owner, .written = false};
}

ByteRange write(std::size_t owner, std::int64_t begin, std::int64_t end) {
  return {.buffer = 0, .begin = begin, .end = end, .owner = owner, .written = true};
}

TEST(ByteRanges, ConflictWhenOneCopyWritesWhatAnotherReads) {
  EXPECT_TRUE(ranges_conflict({read(0, 0, 8), write(0, 8, 16), read(1, 12, 20)}));
}

TEST(ByteRanges, ConflictWhenTwoCopiesWriteTheSameByte) {
  EXPECT_TRUE(ranges_conflict({write(0, 0, 8), write(1, 7, 9)}));
}

TEST(ByteRanges, ReadingTheSameBytesIsNoConflict) {
  EXPECT_FALSE(ranges_conflict({read(0, 0, 8), read(1, 0, 8)}));
}

TEST(ByteRanges, ACopyMayOverlapItself) {
  EXPECT_FALSE(ranges_conflict({read(0, 4, 12), write(0, 0, 8)}));
}

TEST(ByteRanges, TouchingRangesAndEmptyOnesAreNoConflict) {
  EXPECT_FALSE(ranges_conflict({write(0, 0, 8), write(1, 8, 16), write(2, 4, 4)}));
}

TEST(ByteRanges, BuffersAreApart) {
  ByteRange other = write(1, 0, 8);
  other.buffer = 1;
  EXPECT_FALSE(ranges_conflict({write(0, 0, 8), other}));
}

TEST(ByteRanges, ALongRangeConflictsBehindShortOnes) {
  EXPECT_TRUE(ranges_conflict({write(0, 0, 100), read(1, 200, 201), read(2, 99, 100)}));
}

}  // namespace

}  // namespace hybridscope::vector_table_test
