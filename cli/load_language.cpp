#include "cli/load_language.h"

#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/numeric/hybrid_model.h"
#include "sessions/weights/load_model.h"

namespace hybridscope {

Result<MakeLanguageMachine> language_machine(const StateOption& option, const Backends& backends) {
  if (option.backend_kind() != StateBackendKind::cuda) return MakeLanguageMachine();
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
  auto loaded = load_model(option.weights);
  if (!loaded.ok()) return loaded.error();
  auto machine = language_machine(option, backends);
  if (!machine.ok()) return machine.error();
  return LanguageModel{
      .folder = option.weights,
      .form = option.form.value_or(NumericForm::recurrent),
      .model = std::make_shared<const HybridModel>(std::move(loaded).value().model),
      .make_machine = std::move(machine).value()};
}

}  // namespace hybridscope
