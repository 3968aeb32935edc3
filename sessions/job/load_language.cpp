#include "sessions/job/load_language.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/language/host_language_machine.h"
#include "core/numeric/hybrid_model.h"
#include "sessions/run/state_memory_plan.h"
#include "sessions/weights/load_model.h"

namespace hybridscope {
namespace {

// Error: the blocks need more than `free` bytes (negative: not known).
Status expect_room(const LanguageMachineRequest& request, std::int64_t free) {
  const auto layout = make_language_layout(
      request.model, request.kv_cache_config,
      {.num_drafts = request.num_speculative_tokens, .missing = request.missing_conv_positions});
  if (!layout.ok()) return layout.error();
  const std::int64_t of_block = layout.value().bytes_per_block();
  const std::int32_t num_blocks = layout.value().num_blocks;
  if (free < 0 || num_blocks <= free / of_block) return Ok{};
  return Error{ErrorKind::not_available,
               fmt::format("{} blocks of the language model take {}, and {} of memory are free: "
                           "enough for {} (num_gpu_blocks_override)",
                           num_blocks, rounded_byte_size(of_block * num_blocks),
                           rounded_byte_size(free), free / of_block)};
}

MakeLanguageMachine on_host(const StateDevice& cpu) {
  if (cpu.free_bytes == nullptr) return {};
  return [free_bytes = cpu.free_bytes](
             const LanguageMachineRequest& request) -> Result<std::unique_ptr<LanguageMachine>> {
    const auto free = free_bytes(0);
    if (!free.ok()) return free.error();
    if (const Status room = expect_room(request, free.value()); !room) return room.error();
    return HostLanguageMachine::create(request);
  };
}

}  // namespace

Result<MakeLanguageMachine> language_machine(const StateOption& option, const Backends& backends) {
  if (option.backend_kind() != StateBackendKind::cuda) return on_host(backends.cpu);
  const StateDevice& cuda = backends.cuda;
  const std::int32_t device = option.device.value_or(0);
  if (cuda.free_bytes != nullptr)
    if (const auto there = cuda.free_bytes(device); !there.ok()) return there.error();
  return MakeLanguageMachine(
      [make = cuda.make_language, device](const LanguageMachineRequest& request) {
        HS_EXPECT(make != nullptr);
        return make(request, device);
      });
}

Result<LanguageModel> load_language(const StateOption& option, const Backends& backends) {
  if (!option.is_numeric()) return LanguageModel();
  auto machine = language_machine(option, backends);
  if (!machine.ok()) return machine.error();
  auto loaded = load_model(option.weights);
  if (!loaded.ok()) return loaded.error();
  return LanguageModel{
      .folder = option.weights,
      .form = option.form.value_or(NumericForm::recurrent),
      .model = std::make_shared<const HybridModel>(std::move(loaded).value().model),
      .make_machine = std::move(machine).value()};
}

}  // namespace hybridscope
