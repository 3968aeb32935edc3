// The three metadata builders against golden/: every call of every case, every field.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/metadata/gdn_builder.h"
#include "core/metadata/mamba2_builder.h"
#include "core/metadata/mamba_builder.h"
#include "core/metadata/named_arrays.h"
#include "tests/core/metadata/batch_support.h"

namespace hybridscope {
namespace {

using test::Json;

const Json kError = {{"error", "invalid_input"}};

const MambaMetadataBuilder& base_of(const MambaMetadataBuilder& builder) { return builder; }
const MambaMetadataBuilder& base_of(const Mamba2MetadataBuilder& builder) { return builder.base(); }

template <class Metadata>
Json result_json(const Result<Metadata>& metadata) {
  if (!metadata) return kError;
  return {{"metadata", test::metadata_json(named_arrays(metadata.value()))}};
}

// Arrays of one call, kept while the metadata of the call is in use.
struct Call {
  test::Batch batch;
  std::optional<std::vector<std::int32_t>> num_accepted_tokens;
  std::optional<std::vector<std::int32_t>> num_decode_draft_tokens;
  test::Table block_table;
  std::vector<std::uint8_t> masks;
};

Call read_call(const Json& json) {
  Call call;
  if (json.contains("common")) call.batch = test::batch_from_json(json.at("common"));
  if (json.contains("num_accepted_tokens"))
    call.num_accepted_tokens = test::list_from_json(json.at("num_accepted_tokens"));
  if (json.contains("num_decode_draft_tokens"))
    call.num_decode_draft_tokens = test::list_from_json(json.at("num_decode_draft_tokens"));
  if (json.contains("block_table"))
    call.block_table = test::table_from_json(json.at("block_table"), json.at("block_table_shape"));
  return call;
}

template <class Metadata, class Builder>
Result<Metadata> run_mamba(Builder& builder, const std::string& op, const Call& call,
                           const Metadata& latest) {
  if (op == "update_block_table")
    return builder.update_block_table(latest, call.block_table.view());
  if (op == "build_for_cudagraph_capture")
    return builder.build_for_cudagraph_capture(call.batch.view());
  const auto counts = test::optional_view(call.num_accepted_tokens);
  const auto split = split_mamba_batch_by_shape(call.batch.view(),
                                                base_of(builder).reorder_batch_threshold(), counts);
  if (!split) return split.error();
  return builder.build(
      {.common = call.batch.view(), .split = split.value(), .num_accepted_tokens = counts});
}

// Compares one call; false ends the case (the state after an error is not part of the contract).
bool expect_result(const Json& test_case, std::size_t index, const Json& expected,
                   const Json& got) {
  if (expected.contains("error") && got.contains("error")) return false;
  const std::string difference = test::first_difference(expected, got);
  EXPECT_EQ(difference, "") << test_case.at("id") << " call " << index;
  return difference.empty();
}

Json init_json(const MambaMetadataBuilder& builder) {
  const auto table = builder.persistent_views().state_indices_tensor_d;
  return {{"decode_cudagraph_max_bs", builder.decode_cudagraph_max_bs()},
          {"reorder_batch_threshold", builder.reorder_batch_threshold()},
          {"supports_update_block_table", builder.supports_update_block_table()},
          {"state_indices_tensor_d_shape", {table.rows, table.cols}}};
}

// Returns the number of calls that were compared.
template <class Builder, class Metadata>
int expect_mamba_case(const Json& c) {
  const Json& output = c.at("output");
  auto created = Builder::create(test::config_from_json(c.at("config")));
  if (output.at("init").contains("error") || !created) {
    EXPECT_EQ(output.at("init").contains("error"), !created.ok()) << c.at("id");
    return 1;
  }
  Builder& builder = created.value();
  EXPECT_EQ(test::first_difference(output.at("init"), init_json(base_of(builder))), "")
      << c.at("id");
  const Json& calls = c.at("calls");
  std::vector<Call> kept(calls.size());
  Metadata latest;
  for (std::size_t i = 0; i < output.at("results").size(); ++i) {
    kept[i] = read_call(calls[i]);
    const auto metadata = run_mamba<Metadata>(builder, calls[i].at("op"), kept[i], latest);
    if (!expect_result(c, i, output.at("results")[i], result_json(metadata)))
      return static_cast<int>(i) + 1;
    latest = metadata.value();
  }
  return static_cast<int>(calls.size());
}

int expect_gdn_case(const Json& c) {
  const Json& output = c.at("output");
  auto created = GdnMetadataBuilder::create(test::config_from_json(c.at("config")));
  EXPECT_TRUE(created.ok()) << c.at("id");
  GdnMetadataBuilder& builder = created.value();
  const Json init = {{"decode_cudagraph_max_bs", builder.decode_cudagraph_max_bs()},
                     {"reorder_batch_threshold", builder.reorder_batch_threshold()}};
  EXPECT_EQ(test::first_difference(output.at("init"), init), "") << c.at("id");
  const Json& calls = c.at("calls");
  for (std::size_t i = 0; i < output.at("results").size(); ++i) {
    Call call = read_call(calls[i]);
    call.masks.resize(call.batch.seq_lens.size());
    const auto run = [&]() -> Result<GdnMetadata> {
      if (calls[i].at("op") == "build_for_cudagraph_capture")
        return builder.build_for_cudagraph_capture(call.batch.view());
      const auto classes = classify_gdn_rows_by_drafts(
          call.batch.view(),
          {.num_spec = builder.config().num_spec,
           .num_decode_draft_tokens = test::optional_view(call.num_decode_draft_tokens)},
          call.masks);
      if (!classes) return classes.error();
      return builder.build({.common = call.batch.view(),
                            .num_accepted_tokens = test::optional_view(call.num_accepted_tokens),
                            .row_classes = classes.value()});
    };
    const auto metadata = run();
    Json got = result_json(metadata);
    if (metadata) {
      const bool wide = metadata.value().token_indx_dtype == TokenIndxDtype::int64;
      if (metadata.value().spec_token_indx.present)
        for (const char* name : {"spec_token_indx", "non_spec_token_indx"})
          got["dtypes"][name] = wide ? "int64" : "int32";
      else
        got["dtypes"] = output.at("results")[i].value("dtypes", Json::object());
    }
    if (!expect_result(c, i, output.at("results")[i], got)) return static_cast<int>(i) + 1;
  }
  return static_cast<int>(calls.size());
}

void expect_cases(const std::string& file, const std::function<int(const Json&)>& run_case) {
  int calls = 0;
  const int cases = test::for_each_case(file, [&](const Json& test_case) {
    if (!testing::Test::HasFailure()) calls += run_case(test_case);
  });
  EXPECT_GT(cases, 0);
  EXPECT_GE(calls, cases);
  testing::Test::RecordProperty("calls", calls);
}

TEST(MambaBuilderGolden, EveryFieldOfEveryCall) {
  HS_NEED_GOLDEN();
  expect_cases("mamba_builder.jsonl", expect_mamba_case<MambaMetadataBuilder, MambaMetadata>);
}

TEST(Mamba2BuilderGolden, EveryFieldOfEveryCall) {
  HS_NEED_GOLDEN();
  expect_cases("mamba2_builder.jsonl", expect_mamba_case<Mamba2MetadataBuilder, Mamba2Metadata>);
}

TEST(GdnBuilderGolden, EveryFieldOfEveryCall) {
  HS_NEED_GOLDEN();
  expect_cases("gdn_builder.jsonl", expect_gdn_case);
}

}  // namespace
}  // namespace hybridscope
