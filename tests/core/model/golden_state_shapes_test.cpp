// golden/state_shapes.jsonl and golden/state_dtypes.jsonl, every case and field.
#include <gtest/gtest.h>

#include <map>

#include "core/model/model_spec.h"
#include "core/model/state_dtype.h"
#include "core/model/state_shape.h"
#include "tests/support/golden.h"

namespace hybridscope {
namespace {

using test::Json;

constexpr int kMaxFailures = 5;

// Counts failing cases, so that a broken rule does not print a thousand of them.
class CaseChecker {
 public:
  void check(const Json& test_case, const Json& got) {
    const std::string difference = test_case.at("output").contains("error") && got.contains("error")
                                       ? std::string()
                                       : test::first_difference(test_case.at("output"), got);
    if (difference.empty()) return;
    if (++failures_ <= kMaxFailures)
      ADD_FAILURE() << test_case.at("id") << " " << difference << "\n"
                    << test_case.dump() << "\ngot " << got.dump();
  }

 private:
  int failures_ = 0;
};

std::int64_t field(const Json& input, const char* name) {
  return input.at(name).get<std::int64_t>();
}

std::int64_t field_or(const Json& input, const char* name, std::int64_t absent) {
  return input.contains(name) ? field(input, name) : absent;
}

std::optional<std::int64_t> optional_field(const Json& input, const char* name) {
  if (!input.contains(name) || input.at(name).is_null()) return {};
  return field(input, name);
}

RecurrentDims dims_of(const std::string& method, const Json& input) {
  if (method == "mamba1_state_shape")
    return Mamba1Dims{field(input, "intermediate_size"), field(input, "state_size"),
                      field(input, "conv_kernel")};
  if (method == "mamba2_state_shape")
    return Mamba2Dims{field(input, "intermediate_size"), field(input, "n_groups"),
                      field(input, "num_heads"),         field(input, "head_dim"),
                      field(input, "state_size"),        field(input, "conv_kernel")};
  if (method == "linear_attention_state_shape")
    return LinearAttentionDims{field(input, "num_heads"), field(input, "head_dim")};
  if (method == "short_conv_state_shape")
    return ShortConvDims{field(input, "intermediate_size"), field(input, "conv_kernel")};
  if (method == "gated_delta_net_state_shape")
    return GatedDeltaNetDims{field(input, "num_k_heads"), field(input, "num_v_heads"),
                             field(input, "head_k_dim"), field(input, "head_v_dim"),
                             field(input, "conv_kernel_size")};
  if (method == "kda_state_shape")
    return KdaDims{field(input, "num_heads"), field(input, "head_dim"),
                   optional_field(input, "num_k_heads"), optional_field(input, "head_k_dim"),
                   field_or(input, "conv_kernel_size", 4)};
  throw std::runtime_error("unknown method " + method);
}

Json shapes_output(const Json& test_case) {
  const std::string method = test_case.at("config").at("method");
  const Json& input = test_case.at("input");
  if (method == "extra_groups_for_head_shards") {
    const auto value = extra_groups_for_head_shards(
        {.ngroups = field(input, "ngroups"), .tp_size = field(input, "tp_size")});
    return value ? Json{{"value", value.value()}} : Json{{"error", value.error().message}};
  }
  const char* tp = input.contains("tp_world_size") ? "tp_world_size" : "tp_size";
  const auto shapes = state_shapes(
      dims_of(method, input),
      {.tp_world_size = field(input, tp),
       .conv_state_layout =
           test_case.at("config").at("layout") == "DS" ? ConvStateLayout::DS : ConvStateLayout::SD,
       .num_spec = field_or(input, "num_spec", 0)});
  return shapes ? Json{{"shapes", shapes.value()}} : Json{{"error", shapes.error().message}};
}

TEST(StateShape, AgreesWithEveryGoldenCase) {
  HS_NEED_GOLDEN();
  CaseChecker checker;
  const int cases = test::for_each_case("state_shapes.jsonl", [&](const Json& test_case) {
    checker.check(test_case, shapes_output(test_case));
  });
  EXPECT_GT(cases, 0);
}

const std::map<std::string, MambaType> kMambaTypes = {
    {"mamba1_state", MambaType::mamba1},
    {"mamba2_state", MambaType::mamba2},
    {"linear_attention_state", MambaType::linear_attention},
    {"short_conv_state", MambaType::short_conv},
    {"gated_delta_net_state", MambaType::gdn_attention},
    {"kda_state", MambaType::kda}};

Json dtypes_output(const Json& test_case) {
  const std::string method = test_case.at("config").at("method");
  const auto cut = method.rfind("_state") + 6;
  const MambaType mamba_type = kMambaTypes.at(method.substr(0, cut));
  if (method.substr(cut) == "_copy_func") {
    Json funcs = Json::array();
    for (const StateKind kind : state_copy_funcs(mamba_type))
      funcs.push_back(kind == StateKind::conv ? "conv" : "temporal");
    return {{"copy_funcs", funcs}};
  }
  const Json& input = test_case.at("input");
  const std::string model = input.at("model_dtype");
  const std::string cache = input.at("mamba_cache_dtype");
  const std::string ssm = input.value("mamba_ssm_cache_dtype", "auto");
  const auto dtypes = state_dtypes(
      mamba_type, {.model_dtype = model, .mamba_cache_dtype = cache, .mamba_ssm_cache_dtype = ssm});
  if (!dtypes) return {{"error", dtypes.error().message}};
  Json names = Json::array();
  for (const Dtype dtype : dtypes.value()) names.push_back(std::string(dtype_name(dtype)));
  return {{"dtypes", names}};
}

TEST(StateDtype, AgreesWithEveryGoldenCase) {
  HS_NEED_GOLDEN();
  CaseChecker checker;
  const int cases = test::for_each_case("state_dtypes.jsonl", [&](const Json& test_case) {
    checker.check(test_case, dtypes_output(test_case));
  });
  EXPECT_GT(cases, 0);
}

}  // namespace
}  // namespace hybridscope
