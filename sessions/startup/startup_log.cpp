#include "sessions/startup/startup_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "sessions/startup/logged_arguments.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

constexpr double kGibBytes = 1024.0 * 1024.0 * 1024.0;
constexpr double kRounding = 0.005;  // GiB

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// The last one: earlier ones may be of a memory profile, or of an earlier attempt.
std::string last_value(const LogText& log, std::string_view pattern) {
  const auto found = log.find(pattern);
  return found.empty() ? std::string() : found.back().values[0];
}

std::optional<std::int64_t> last_number(const LogText& log, std::string_view pattern) {
  return whole_number(last_value(log, pattern));
}

// One of each: every worker says them.
std::string padding_layers_of(const LogText& log) {
  std::vector<std::string> all;
  for (const LogMatch& line : log.find("Add # padding layers, may waste at most #%")) {
    std::string words = fmt::format("{} ({} %)", line.values[0], line.values[1]);
    if (std::ranges::find(all, words) == all.end()) all.push_back(std::move(words));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

std::optional<std::int64_t> fitted_length_of(const LogText& log) {
  if (const auto cut = log.find("Auto-fit max_model_len: reduced from # to # to fit"); !cut.empty())
    return whole_number(cut.back().values[1]);
  return last_number(log, "Auto-fit max_model_len: full model context length # fits");
}

}  // namespace

LoggedSizes read_sizes(const LogText& log) {
  LoggedSizes sizes;
  sizes.cache_mode = last_value(log, "Mamba cache mode is set to '*' for");
  sizes.ssm_cache_dtype = last_value(log, "Updating mamba_ssm_cache_dtype to '*' for");
  sizes.kernel_block_size = last_number(log, "Setting kv cache block size to # for");
  sizes.block_size = last_number(log, "Setting attention block size to # tokens");
  sizes.page_padding = last_value(log, "Padding mamba page size by #%");
  sizes.padding_layers = padding_layers_of(log);
  sizes.fitted_length = fitted_length_of(log);
  if (const auto blocks = log.find("Overriding num_gpu_blocks=# with num_gpu_blocks_override=#");
      !blocks.empty())
    sizes.overridden_blocks = whole_number(blocks.back().values[1]);
  sizes.tokens = last_number(log, "GPU KV cache size: # tokens");
  if (const auto most = log.find("Maximum concurrency for # tokens per request: #x");
      !most.empty()) {
    sizes.length = whole_number(most.back().values[0]);
    sizes.concurrency = most.back().values[1];
  }
  if (const auto refused = log.find("max seq len (#), (# GiB KV cache is needed");
      !refused.empty()) {
    sizes.refused_length = whole_number(refused.back().values[0]);
    sizes.needed_gib = refused.back().values[1];
  }
  sizes.usable_gib = last_value(log, "larger than the available KV cache memory (# GiB)");
  sizes.longest = last_number(log, "the estimated maximum model length is #.");
  if (const auto refused = log.find("max_num_seqs (#) exceeds available Mamba cache blocks (#)");
      !refused.empty()) {
    sizes.refused_seqs = whole_number(refused.back().values[0]);
    sizes.state_blocks = whole_number(refused.back().values[1]);
  }
  sizes.refused_block = last_number(log, "align mode, block_size (#) must be <=");
  return sizes;
}

namespace {

MemoryInterval rounded_gib(const std::string& gib) {
  const double value = std::strtod(gib.c_str(), nullptr);
  return {
      .least = static_cast<std::int64_t>(std::ceil(std::max(value - kRounding, 0.0) * kGibBytes)),
      .most = static_cast<std::int64_t>(std::floor((value + kRounding) * kGibBytes))};
}

// The least of the lines between the last two lines of tokens: each worker has one. Replicas have
// pools of their own.
std::optional<MemoryInterval> available_memory(const LogText& log, bool has_replicas) {
  const auto lines = log.find("Available KV cache memory: # GiB");
  if (lines.empty()) return std::nullopt;
  const auto sizes = log.find("GPU KV cache size: # tokens");
  std::vector<MemoryInterval> those;
  for (std::size_t i = sizes.size(); those.empty() && i > 0; --i) {
    const std::size_t from = i > 1 ? sizes[i - 2].begin : 0;
    for (const LogMatch& line : lines)
      if (line.begin >= from && line.begin < sizes[i - 1].begin)
        those.push_back(rounded_gib(line.values[0]));
  }
  if (those.empty()) those.push_back(rounded_gib(lines.back().values[0]));
  MemoryInterval all = *std::ranges::min_element(those, {}, &MemoryInterval::least);
  if (has_replicas) all.most = std::ranges::max_element(those, {}, &MemoryInterval::most)->most;
  return all;
}

std::optional<std::int64_t> integer_of(const nlohmann::ordered_json& values, const char* name) {
  const auto found = values.find(name);
  if (found == values.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::optional<MemoryInterval> read_memory(const LogText& log,
                                          const nlohmann::ordered_json& values) {
  if (const auto bytes = integer_of(values, "kv_cache_memory_bytes"))
    return MemoryInterval{.least = *bytes, .most = *bytes};
  if (auto told = available_memory(log, integer_of(values, "data_parallel_size").value_or(1) > 1))
    return told;
  // Each worker says what it has in use when all is ready.
  auto gibs = log.find("Current kv cache memory in use is # GiB");
  if (gibs.empty()) gibs = log.find("reserved # GiB memory for KV Cache");
  if (gibs.empty()) return std::nullopt;
  MemoryInterval least = rounded_gib(gibs.back().values[0]);
  for (const LogMatch& line : gibs)
    if (const MemoryInterval own = rounded_gib(line.values[0]); own.least < least.least)
      least = own;
  return least;
}

// Names in front of which "nvidia" stands, in small letters with blanks between words.
const Gpu* gpu_named_in(std::string_view text) {
  std::string words(text);
  std::ranges::transform(words, words.begin(), [](char c) {
    return c == '_' || c == '-' ? ' ' : static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  const auto begins = [](std::string_view at, std::string_view name) {
    return at.starts_with(name) &&
           (at.size() == name.size() || at[name.size()] < '0' || at[name.size()] > '9');
  };
  for (std::size_t at = words.find("nvidia "); at != words.npos;
       at = words.find("nvidia ", at + 1)) {
    std::string_view rest = std::string_view(words).substr(at + 7);
    if (rest.starts_with("geforce ")) rest.remove_prefix(8);
    if (begins(rest, "a100") && rest.substr(0, 20).find("40gb") != rest.npos)
      return find_gpu("a100-40gb");
    std::string joined(rest.substr(0, 20));
    if (joined.starts_with("rtx")) std::erase(joined, ' ');
    const bool has_number = joined.size() > 3 && joined[3] >= '0' && joined[3] <= '9';
    const std::string name = joined.starts_with("rtx") && has_number ? joined.substr(3) : joined;
    for (const Gpu& gpu : kGpus)
      if (begins(name, gpu.name)) return &gpu;
  }
  return nullptr;
}

double gpu_memory_of(const LogText& log) {
  auto found = log.find("Free memory on device (#/# GiB)");
  if (found.empty()) found = log.find("Free memory on device cuda:# (#/# GiB)");
  return found.empty() ? 0 : std::strtod(found.back().values.back().c_str(), nullptr);
}

std::optional<std::int32_t> compute_capability_of(const LogText& log) {
  const std::string told = last_value(log, "Device capability # not supported");
  if (told.empty()) return std::nullopt;
  return static_cast<std::int32_t>(std::lround(std::strtod(told.c_str(), nullptr) * 10));
}

std::string version_of(const LogText& log) {
  for (const std::string_view pattern :
       {"LLM engine (v*) with config", "vLLM API server version *", "\xE2\x96\x88 version *",
        "vLLM Version: *", "vllm-openai:v*"})
    if (const auto found = log.find(pattern); !found.empty()) return found.back().values[0];
  return {};
}

std::optional<bool> flag_of(const nlohmann::ordered_json& values, const char* name) {
  const auto found = values.find(name);
  if (found == values.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

// A start begins with its arguments. The last that tells how many tokens there are, or why it is
// refused; lines in front of the first belong to it, because reports quote them so.
std::string_view last_start(std::string_view text) {
  constexpr std::string_view kBegin = "non-default args:";
  std::size_t from = text.find(kBegin);
  if (from == text.npos) return text;
  std::vector<std::string_view> starts;
  std::size_t begin = 0;
  while (from != text.npos) {
    const std::size_t next = text.find(kBegin, from + 1);
    const std::string_view start = text.substr(begin, next == text.npos ? next : next - begin);
    starts.push_back(start);
    begin = next;
    from = next;
  }
  for (std::size_t i = starts.size(); i > 0; --i) {
    const LoggedSizes sizes = read_sizes(LogText(starts[i - 1]));
    if (sizes.tokens || sizes.refused_length || sizes.state_blocks) return starts[i - 1];
  }
  return starts.back();
}

// "vllm serve MODEL ..." as it was typed, where somebody pasted it with some lines of the log.
std::string pasted_command(std::string_view text) {
  constexpr std::string_view kBegin = "vllm serve ";
  std::string_view rest = text.substr(std::min(text.find(kBegin), text.size()));
  std::string command;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    const bool goes_on = line.ends_with('\\');
    command += goes_on ? line.substr(0, line.size() - 1) : line;
    if (!goes_on) break;
  }
  return command;
}

// The word behind "vllm serve", unless it is a flag.
std::string model_of_command(std::string_view command) {
  const std::vector<std::string> words = split_words(command);
  return words.size() < 3 || words[2].starts_with('-') ? std::string() : words[2];
}

std::string model_of(const LogText& log, const nlohmann::ordered_json& values) {
  for (const char* name : {"model", "model_tag"})
    if (const auto found = values.find(name); found != values.end() && found->is_string())
      return found->get<std::string>();
  return last_value(log, "\xE2\x96\x88 model *");
}

}  // namespace

StartupLog parse_startup_log(std::string_view text) {
  const LogText log(last_start(text));
  StartupLog read;
  LoggedArguments arguments = read_logged_arguments(log);
  read.version = version_of(log);
  if (read.version.empty()) read.version = version_of(LogText(text));
  const std::string command = pasted_command(text);
  if (arguments.values.empty() && !command.empty()) {
    read.serve_line = command;
    read.model = model_of_command(command);
  } else {
    read.model = model_of(log, arguments.values);
    if (!read.model.empty()) arguments.values["model"] = read.model;
    read.serve_line = serve_line_of(arguments.values);
  }
  if (const auto names = arguments.values.find("served_model_name");
      names != arguments.values.end() && names->is_array())
    for (const auto& name : *names)
      if (name.is_string()) read.names.push_back(name.get<std::string>());
  read.notes = std::move(arguments.notes);
  const bool serves = text.find("APIServer") != text.npos || text.find("API server") != text.npos ||
                      text.find("ApiServer") != text.npos;
  if (!serves && arguments.is_complete && flag_of(arguments.values, "disable_log_stats") == true)
    read.entry_point = EntryPoint::llm;
  read.architecture = last_value(log, "Resolved architecture: *");
  read.gpu = gpu_named_in(text);
  read.gpu_memory_gib = gpu_memory_of(log);
  read.compute_capability = compute_capability_of(log);
  read.max_model_len = last_number(log, "Using max model len #");
  if (!read.max_model_len) read.max_model_len = integer_of(arguments.resolved, "max_seq_len");
  read.max_num_batched_tokens =
      last_number(log, "Chunked prefill is enabled with max_num_batched_tokens=#");
  if (log.has("Using Triton/FLA GDN prefill kernel"))
    read.gdn_prefill_backend = GdnPrefillBackend::triton;
  if (log.has("Using FlashInfer GDN prefill kernel"))
    read.gdn_prefill_backend = GdnPrefillBackend::flashinfer;
  read.enforce_eager = flag_of(arguments.values, "enforce_eager").value_or(false);
  read.prefix_caching = flag_of(arguments.resolved, "enable_prefix_caching");
  read.memory = read_memory(log, arguments.values);
  read.sizes = read_sizes(log);
  if (!read.sizes.usable_gib.empty()) read.usable_memory = rounded_gib(read.sizes.usable_gib);
  read.num_blocks = last_number(log, "num_gpu_blocks is: #");
  if (!read.num_blocks) read.num_blocks = read.sizes.state_blocks;
  if (!read.num_blocks) read.num_blocks = read.sizes.overridden_blocks;
  read.has_started = log.has("Application startup complete") || log.has("init engine (profile,");
  return read;
}

Release nearest_release(std::string_view version) {
  const std::string_view numbers = version.substr(0, version.find_first_not_of("0123456789."));
  if (numbers.size() == version.size())
    if (const auto exact = parse_release(version)) return *exact;
  if (numbers.empty()) return kNewestRelease;
  const auto parts = [](std::string_view text) {
    std::array<int, 3> all = {0, 0, 0};
    for (int& part : all) {
      const auto read = std::from_chars(text.data(), text.data() + text.size(), part);
      text.remove_prefix(
          std::min(static_cast<std::size_t>(read.ptr - text.data()) + 1, text.size()));
    }
    return all;
  };
  const std::array<int, 3> wanted = parts(numbers);
  // A build between releases is nearer to the next one; a patch, to that of its own minor version.
  const bool is_before =
      numbers.size() != version.size() && !version.starts_with(std::string(numbers) + "+");
  Release nearest = kNewestRelease;
  bool found = false;
  for (std::size_t i = 0; i < release_names().size(); ++i) {
    const std::array<int, 3> known = parts(release_names()[i]);
    const bool same_minor = known[0] == wanted[0] && known[1] == wanted[1];
    const bool is_it =
        is_before ? known >= wanted && !found : known <= wanted || same_minor || i == 0;
    if (!is_it) continue;
    nearest = static_cast<Release>(i);
    found = true;
  }
  return nearest;
}

}  // namespace hybridscope
