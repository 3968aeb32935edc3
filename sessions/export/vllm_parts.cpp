// Which parts of vLLM the exported tests run.
#include <algorithm>
#include <array>

#include "sessions/export/fault_places.h"

namespace hybridscope {
namespace {

struct PartRow {
  std::string_view piece;  // of the function's name, with its file
  VllmPart part;
};

// The first row whose piece is in the name counts.
constexpr std::array kParts = {
    PartRow{"_mamba_block_aligned_split", {"the split of mode align", PartTest::pytest}},
    PartRow{"v1/core/sched/", {"the scheduler", PartTest::none}},
    PartRow{"copy_kv_cache_blocks", {"the worker's copies of whole blocks", PartTest::none}},
    PartRow{"v1/core/", {"the KV-cache manager", PartTest::pytest}},
    PartRow{"v1/worker/gpu/", {"runner V2", PartTest::none}},
    PartRow{"V2 form", {"runner V2", PartTest::none}},
    PartRow{"v1/worker/gpu_input_batch.py", {"the input batch", PartTest::runner_test}},
    PartRow{"_build_attention_metadata", {"the inputs of the metadata builders", PartTest::none}},
    PartRow{"_is_uniform_decode", {"the choice of CUDA graphs", PartTest::none}},
    PartRow{"_dummy_run", {"dummy runs", PartTest::none}},
    PartRow{"_prepare_input_ids", {"the draft tokens that a row is given", PartTest::none}},
    PartRow{"v1/worker/gpu_model_runner.py", {"the runner's rows", PartTest::runner_test}},
    PartRow{"mamba_all", {"the state copies of mode all", PartTest::none}},
    PartRow{"batch_memcpy_kernel", {"the kernels that copy states", PartTest::none}},
    PartRow{"v1/worker/mamba_utils.py", {"the state copies", PartTest::runner_test}},
    PartRow{"BlockTable.move_row", {"dummy runs", PartTest::none}},
    PartRow{"compute_slot_mapping", {"the slots of attention", PartTest::none}},
    PartRow{"v1/attention/", {"the metadata builders", PartTest::none}},
    PartRow{"v1/cudagraph_dispatcher.py", {"the choice of CUDA graphs", PartTest::none}},
    PartRow{"model_executor/", {"the model's layers and kernels", PartTest::none}},
};

}  // namespace

VllmPart part_of_function(std::string_view function) {
  const auto row = std::ranges::find_if(kParts, [&](const PartRow& one) {
    return function.find(one.piece) != std::string_view::npos;
  });
  return row == kParts.end() ? VllmPart{"a part without a test"} : row->part;
}

}  // namespace hybridscope
