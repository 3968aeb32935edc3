#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <utility>

#include "core/model/model_presets.h"
#include "sessions/plan/serve_line.h"

namespace hybridscope {
namespace {

// Names on Hugging Face of models that have the sizes of a preset.
using HubModel = std::pair<std::string_view, std::string_view>;
constexpr std::array kHubModels = {
    HubModel{"state-spaces/mamba-2.8b-hf", "mamba-2.8b"},
    HubModel{"state-spaces/mamba2-2.7b", "mamba2-2.7b"},
    HubModel{"ibm-fms/Bamba-9B", "bamba-9b"},
    HubModel{"ibm-ai-platform/Bamba-9B", "bamba-9b"},
    HubModel{"ibm-ai-platform/Bamba-9B-v1", "bamba-9b"},
    HubModel{"ibm-ai-platform/Bamba-9B-v2", "bamba-9b"},
    HubModel{"nvidia/Nemotron-H-8B-Base-8K", "nemotron-h-8b"},
    HubModel{"ibm-granite/granite-4.0-h-small", "granite-4.0-h-small"},
    HubModel{"Qwen/Qwen3-Next-80B-A3B-Instruct", "qwen3-next-80b-a3b"},
    HubModel{"Qwen/Qwen3-Next-80B-A3B-Instruct-FP8", "qwen3-next-80b-a3b"},
    HubModel{"Qwen/Qwen3-Next-80B-A3B-Thinking", "qwen3-next-80b-a3b"},
    HubModel{"Qwen/Qwen3-Next-80B-A3B-Thinking-FP8", "qwen3-next-80b-a3b"},
    HubModel{"moonshotai/Kimi-Linear-48B-A3B-Base", "kimi-linear-48b-a3b"},
    HubModel{"moonshotai/Kimi-Linear-48B-A3B-Instruct", "kimi-linear-48b-a3b"},
    HubModel{"LiquidAI/LFM2-1.2B", "lfm2-1.2b"},
    HubModel{"MiniMaxAI/MiniMax-Text-01", "minimax-text-01"},
};

}  // namespace

Result<std::string> model_of_serve_line(const std::string& model) {
  for (const auto& [name, preset] : kHubModels)
    if (name == model) return std::string(preset);
  if (model_preset(model).ok()) return model;
  std::error_code error;
  if (std::filesystem::exists(model, error)) return model;
  std::vector<std::string_view> known;
  for (const HubModel& row : kHubModels) known.push_back(row.first);
  return Error{ErrorKind::not_found,
               fmt::format("the sizes of {} are not known: give its file with --model config.json "
                           "(known by name: {})",
                           model, fmt::join(known, ", "))};
}

}  // namespace hybridscope
