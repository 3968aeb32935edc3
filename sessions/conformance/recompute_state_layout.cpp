// copy_specs and ctx_init: where the bytes of a state are.
#include <nlohmann/json.hpp>

#include "core/state/copy_spec.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/vector_states.h"

namespace hybridscope {
namespace {

using nlohmann::json;

// "conv2d" takes a conv state's last dimension away, "func" is a copy function nobody knows; the
// other faults are in block_table_strides.
void inject_fault(const VectorValue& fault, MambaStateTensors& tensors) {
  const std::size_t name = fault.one_of({"conv2d", "func", "stride", "count"});
  if (name == 1) tensors.state_kinds.front() = std::nullopt;
  if (name != 0) return;
  for (std::size_t i = 0; i < tensors.state_kinds.size(); ++i) {
    if (tensors.state_kinds[i] != StateKind::conv) continue;
    if (tensors.layers.empty() || tensors.layers.back().states[i].shape.size() != 3)
      fault.fail("there is no conv state with 3 dimensions");
    tensors.layers.back().states[i].shape.pop_back();
    tensors.layers.back().states[i].stride.pop_back();
  }
}

}  // namespace

json recompute_copy_specs(const VectorCase& vector, ExecuteCopies) {
  const VectorValue& input = vector.input;
  const StateTensor state =
      read_state_tensor(input["shape"], input["stride"], vector.config["element_size"]);
  const std::vector<std::int32_t> block_ids = input["block_ids"].int32s();
  const CopySpecArgs args{.block_ids = block_ids,
                          .cur_block_idx = read_count(input["cur_block_idx"]),
                          .num_accepted_tokens = read_count(input["num_accepted_tokens"])};
  const auto kind = vector.config["func"].one_of({"conv", "temporal"}) == 0 ? StateKind::conv
                                                                            : StateKind::temporal;
  const auto spec = get_copy_spec(state, args, kind, read_conv_state_layout(vector.config));
  if (!spec) return error_json(spec.error());
  json start;
  if (spec.value().start_byte_offset) start = *spec.value().start_byte_offset;
  return {{"start_byte_offset", start},
          {"num_elements", spec.value().num_elements},
          {"copy_bytes", spec.value().copy_bytes}};
}

json recompute_ctx_init(const VectorCase& vector, ExecuteCopies) {
  MambaStateTensors tensors = read_mamba_state_tensors(vector.config);
  if (const auto fault = vector.config.find("fault")) inject_fault(*fault, tensors);
  const std::vector<std::int64_t> strides = vector.input["block_table_strides"].int64s();
  const auto layout = make_state_layout(tensors, strides);
  if (!layout) return error_json(layout.error());
  json answer = layout_json(layout.value());
  answer["mamba_group_ids"] = layout.value().mamba_group_ids;
  return answer;
}

}  // namespace hybridscope
