#include "tests/sessions/explain/explained_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "sessions/explain/explain_step.h"
#include "sessions/run/step_judge.h"

namespace hybridscope::test {

ExplainedRun::ExplainedRun(const EngineConfig& config)
    : engine_(Engine::create(config).value()),
      checker_(StepChecker::create(make_check_config(config)).value()),
      tables_(static_cast<std::int32_t>(config.kv_cache_config.groups.size()),
              config.kv_cache_config.num_blocks),
      names_(make_names(engine_)) {}

RequestId ExplainedRun::add(const std::string& name, std::int32_t prompt, std::int32_t max_tokens,
                            std::int32_t shared) {
  AddRequest request = request_of(prompt, max_tokens, static_cast<std::uint64_t>(name[0]), shared);
  request.name = name;
  return engine_.add_request(request).value();
}

std::string ExplainedRun::step(std::int64_t number) {
  std::string text;
  do {
    trace_ = &engine_.step();
    const auto found = checker_.check(*trace_, CheckScope::all);
    findings_.insert(findings_.end(), found.begin(), found.end());
    for (const CacheEvent& event : trace_->cache_events) tables_.apply(event);
    text = explain_step({.trace = *trace_,
                         .config = engine_.config(),
                         .names = names_,
                         .scheduler_tables = tables_,
                         .findings = found});
    for (const CacheEvent& event : trace_->commit_events) tables_.apply(event);
  } while (trace_->step < number);
  return text;
}

CachedPrefixes::Prefix CachedPrefixes::prefix_of(const Engine& engine, RequestId request,
                                                 std::int32_t group, std::int32_t num_tokens) {
  Prefix prefix{.group = group, .salt = engine.cache_salt(request), .tokens = {}};
  for (std::int32_t i = 0; i < num_tokens; ++i) prefix.tokens.push_back(engine.token(request, i));
  return prefix;
}

void CachedPrefixes::forget(std::span<const CacheEvent> events) {
  for (const CacheEvent& event : events) {
    if (event.kind != CacheEventKind::evicted && event.kind != CacheEventKind::withdrawn) continue;
    for (auto known = blocks_.begin(); known != blocks_.end();) {
      known->second.erase(event.block);
      known = known->second.empty() ? blocks_.erase(known) : std::next(known);
    }
  }
}

void CachedPrefixes::learn(std::span<const CacheEvent> events, const Engine& engine) {
  for (const CacheEvent& event : events) {
    if (event.kind == CacheEventKind::registered)
      blocks_[prefix_of(engine, event.request, event.group, event.num_tokens)].insert(event.block);
    forget({&event, 1});
  }
}

bool CachedPrefixes::has(const Engine& engine, RequestId request, std::int32_t group,
                         std::int32_t num_tokens) const {
  return blocks_.contains(prefix_of(engine, request, group, num_tokens));
}

bool CachedPrefixes::has_any(const Engine& engine, RequestId request,
                             std::int32_t num_tokens) const {
  const Prefix all = prefix_of(engine, request, 0, num_tokens);
  return std::ranges::any_of(blocks_, [&](const auto& known) {
    const Prefix& prefix = known.first;
    return prefix.salt == all.salt && prefix.tokens.size() <= all.tokens.size() &&
           std::ranges::equal(prefix.tokens, std::span(all.tokens).first(prefix.tokens.size()));
  });
}

namespace {

struct Batch {
  const EngineConfig& config;
  std::int32_t num_tokens = 0;
  std::int32_t num_reqs = 0;
  bool uniform = false;

  std::int32_t decode_width() const { return 1 + config.num_speculative_tokens; }
  // Is there a full graph of decodes of exactly this size with enough rows?
  bool has_decode_graph(std::int32_t size) const {
    const std::int32_t rows = size / decode_width();
    return size % decode_width() == 0 && rows >= num_reqs && rows <= config.max_num_seqs;
  }
  // V2: a size that is rounded up to whole decode rows, and that no other graph is captured for, is
  // the first that holds the tokens.
  bool fits_decode_graph_alone(const std::vector<std::int32_t>& sizes) const {
    const auto next = std::ranges::lower_bound(sizes, num_tokens);
    return config.runner == ModelRunner::v2 && next != sizes.end() &&
           std::ranges::any_of(sizes, [&](std::int32_t size) {
             const std::int32_t rounded =
                 (size + decode_width() - 1) / decode_width() * decode_width();
             return num_tokens <= rounded && rounded < *next;
           });
  }
};

bool holds(const CudagraphDispatch& graph, const Batch& batch,
           const CudagraphResolution& captured) {
  const CUDAGraphMode mode = captured.cudagraph_mode;
  const std::vector<std::int32_t>& sizes = captured.capture_sizes;
  const bool is_full = graph.runtime_mode == CUDAGraphMode::full;
  const bool is_piecewise = graph.runtime_mode == CUDAGraphMode::piecewise;
  const bool none = graph.runtime_mode == CUDAGraphMode::none;
  if (!none && graph.num_tokens_padded < batch.num_tokens) return false;
  switch (graph.reason) {
    case CudagraphDispatchReason::graphs_off:
      return none && (mode == CUDAGraphMode::none || sizes.empty());
    case CudagraphDispatchReason::above_largest_size:
      return none && batch.num_tokens > sizes.back();
    case CudagraphDispatchReason::uniform_decode_graph:
      return is_full && batch.uniform && graph.num_reqs_padded >= batch.num_reqs;
    case CudagraphDispatchReason::mixed_batch_graph: return is_full && mode == CUDAGraphMode::full;
    case CudagraphDispatchReason::not_uniform:
      return is_piecewise && !batch.uniform && mode == CUDAGraphMode::full_and_piecewise;
    case CudagraphDispatchReason::piecewise_only:
      return is_piecewise && mode == CUDAGraphMode::piecewise;
    case CudagraphDispatchReason::full_graph_too_small:
      return is_piecewise && batch.uniform && !batch.has_decode_graph(graph.num_tokens_padded);
    case CudagraphDispatchReason::no_graph_for_batch: {
      const auto size = std::ranges::lower_bound(sizes, batch.num_tokens);
      if (!none || size == sizes.end()) return false;
      return mode == CUDAGraphMode::full_decode_only
                 ? !batch.uniform || !batch.has_decode_graph(*size)
                 : !batch.uniform && batch.fits_decode_graph_alone(sizes);
    }
    case CudagraphDispatchReason::only_none_allowed:
    case CudagraphDispatchReason::full_graph_forbidden:
      return false;  // the engine asks for neither
  }
  return false;
}

}  // namespace

std::string broken_graph_reason(const StepTrace& trace, const Engine& engine) {
  Batch batch{.config = engine.config(),
              .num_reqs = static_cast<std::int32_t>(trace.rows.size()),
              .uniform = trace.uniform_decode};
  for (const RowTrace& row : trace.rows)
    batch.num_tokens += trace.scheduled_of(row).num_scheduled_tokens;
  if (holds(trace.graph, batch, engine.cudagraphs())) return {};
  return fmt::format("graph reason {} for {} tokens in {} rows",
                     static_cast<int>(trace.graph.reason), batch.num_tokens, batch.num_reqs);
}

namespace {

// Reads one formula of numbers, + - * /, brackets, floor() and ceil().
class FormulaReader {
 public:
  explicit FormulaReader(std::string_view text) : text_(text) {}

  std::optional<double> whole() {
    const auto value = sum();
    return value && next() == '\0' ? value : std::nullopt;
  }

 private:
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::optional<double> sum() {
    auto value = product();
    while (value && (next() == '+' || next() == '-')) {
      const bool plus = text_[at_++] == '+';
      const auto other = product();
      if (!other) return std::nullopt;
      value = plus ? *value + *other : *value - *other;
    }
    return value;
  }
  std::optional<double> product() {
    auto value = factor();
    while (value && (next() == '*' || next() == '/')) {
      const bool times = text_[at_++] == '*';
      const auto other = factor();
      if (!other) return std::nullopt;
      value = times ? *value * *other : *value / *other;
    }
    return value;
  }
  std::optional<double> factor() {
    next();
    for (const auto& [name, function] : {std::pair(
                                             "floor(", +[](double x) { return std::floor(x); }),
                                         std::pair(
                                             "ceil(", +[](double x) { return std::ceil(x); }),
                                         std::pair(
                                             "(", +[](double x) { return x; })}) {
      if (!text_.substr(at_).starts_with(name)) continue;
      at_ += std::string_view(name).size();
      const auto inside = sum();
      if (!inside || next() != ')') return std::nullopt;
      ++at_;
      return function(*inside);
    }
    const std::size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    if (at_ == begin || text_[at_ - 1] == '-') return std::nullopt;
    return std::stod(std::string(text_.substr(begin, at_ - begin)));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool is_letter(char byte) {
  return std::isalpha(static_cast<unsigned char>(byte)) != 0 || byte == '_';
}
bool is_word(char byte) {
  return is_letter(byte) || std::isdigit(static_cast<unsigned char>(byte)) != 0 || byte == '.' ||
         byte == '-';
}

// "floor(" or "ceil(" at this place; empty: neither.
std::string_view function_at(std::string_view text) {
  for (const std::string_view name : {"floor(", "ceil("})
    if (text.starts_with(name)) return name;
  return {};
}

// "(draft model)", "(block 3)": brackets after a space, with a word and no brackets inside.
std::size_t remark_at(std::string_view text) {
  if (text.empty() || text.front() != '(') return 0;
  const std::size_t end = text.find_first_of("()", 1);
  if (end == std::string_view::npos || text[end] != ')') return 0;
  const std::string_view inside = text.substr(1, end - 1);
  return std::any_of(inside.begin(), inside.end(), is_letter) ? end + 1 : 0;
}

// Without words and remarks. floor() and ceil() stay.
std::string numbers_of(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t left_out = remark_at(text);
    if (left_out == 0 && is_letter(text.front()) && function_at(text).empty())
      while (left_out < text.size() && is_word(text[left_out])) ++left_out;
    const std::size_t kept = left_out > 0 ? 0 : std::max<std::size_t>(function_at(text).size(), 1);
    result += text.substr(0, kept);
    text.remove_prefix(left_out + kept);
  }
  return result;
}

bool holds(double left, std::string_view relation, double right) {
  if (relation == "=") return left == right;
  if (relation == "!=") return left != right;
  if (relation == "<") return left < right;
  if (relation == "<=") return left <= right;
  return relation == ">" ? left > right : left >= right;
}

// The relation that begins at this space: " >= ". Empty: none.
std::string_view relation_at(std::string_view text) {
  for (const std::string_view relation : {" = ", " != ", " < ", " <= ", " > ", " >= "})
    if (text.starts_with(relation)) return relation.substr(1, relation.size() - 2);
  return {};
}

void check_clause(std::string_view clause, Equations& equations) {
  std::optional<double> left;
  std::string_view between;
  std::size_t begin = 0;
  const auto take = [&](std::size_t end) {
    const auto value = value_of(clause.substr(begin, end - begin));
    if (left && value) {
      ++equations.num_checked;
      if (!holds(*left, between, *value)) equations.wrong.emplace_back(clause);
    }
    left = value;
  };
  for (std::size_t i = 0; i < clause.size(); ++i) {
    if (clause[i] != ' ') continue;
    const std::string_view relation = relation_at(clause.substr(i));
    if (relation.empty()) continue;
    take(i);
    between = relation;
    begin = i + relation.size() + 2;
    i += relation.size();
  }
  if (!between.empty()) take(clause.size());
}

}  // namespace

std::optional<double> value_of(std::string_view formula) {
  const std::string numbers = numbers_of(formula);
  return FormulaReader(numbers).whole();
}

Equations check_equations(std::string_view text) {
  Equations equations;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(";:,\n"), text.size());
    check_clause(text.substr(0, end), equations);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return equations;
}

}  // namespace hybridscope::test
