#include "sessions/plan/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/base/result.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/json_value.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kMostCountedUp = 16;  // longer ranges double
constexpr std::size_t kMostValues = 1000;

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

// How many times the block size a value such as "2x" is; empty: it is no such value.
std::optional<std::int64_t> times_block_size(const Setting& setting, std::string_view value) {
  if (setting.kind != SettingKind::integer || !value.ends_with('x')) return std::nullopt;
  const auto times = integer_of(value.substr(0, value.size() - 1));
  return times && *times > 0 ? times : std::nullopt;
}

struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t step = 0;  // added
  std::int64_t factor = 0;
};

// "0..3", "0..8+2", "1..64*4"; empty: no range.
std::optional<Range> range_of(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == text.npos) return std::nullopt;
  std::string_view rest = text.substr(dots + 2);
  const std::size_t sign = rest.find_first_of("+*");
  const auto first = integer_of(text.substr(0, dots));
  const auto last = integer_of(rest.substr(0, sign));
  if (!first || !last || *first < 0 || *last < 0) return std::nullopt;
  Range range{.first = *first, .last = *last};
  if (sign == rest.npos) {
    const bool doubles = range.last - range.first > kMostCountedUp && range.first > 0;
    (doubles ? range.factor : range.step) = doubles ? 2 : 1;
    return range;
  }
  const auto by = integer_of(rest.substr(sign + 1));
  if (!by || (rest[sign] == '+' ? *by < 1 : *by < 2 || range.first < 1)) return std::nullopt;
  (rest[sign] == '+' ? range.step : range.factor) = *by;
  return range;
}

// The last number is always one of them. Error: more values than a sweep has.
Status add_range(const Range& range, std::vector<std::string>& values) {
  for (std::int64_t value = range.first;;) {
    values.push_back(std::to_string(value));
    if (values.size() > kMostValues)
      return invalid_input(
          fmt::format("{}..{}: more than {} values", range.first, range.last, kMostValues));
    if (value == range.last) return Ok{};
    const std::int64_t most =
        range.factor > 0 ? range.last / range.factor : range.last - range.step;
    value = value > most       ? range.last
            : range.factor > 0 ? value * range.factor
                               : value + range.step;
  }
}

// Settings of what the prefix cache keeps and matches.
constexpr std::array<std::string_view, 2> kOfPrefixCaching = {"prefix_cache_retention_interval",
                                                              "prefix_match_unit"};
bool is_of_prefix_caching(const Setting& setting) {
  return setting.section.empty() &&
         std::ranges::find(kOfPrefixCaching, setting.name) != kOfPrefixCaching.end();
}

// Prefix caching as a swept mode needs it: none has none, others do nothing without.
void follow_mode(EngineSettings& settings) {
  if (!settings.mamba_cache_mode) return;
  if (settings.mamba_cache_mode != MambaCacheMode::none) {
    if (resolved_prefix_caching(settings) == false && !settings.enable_prefix_caching)
      settings.enable_prefix_caching = true;
    return;
  }
  settings.enable_prefix_caching = false;
  settings.prefix_cache_retention_interval.reset();
  settings.prefix_match_unit.reset();
}

bool is_mode_none(const SweepAxis& axis, std::int32_t value) {
  return setting_path(*axis.setting) == "mamba_cache_mode" &&
         axis.values[static_cast<std::size_t>(value)] == "none";
}

// Do two values of an axis say the same?
bool are_equal(const Setting& setting, std::string_view a, std::string_view b) {
  const auto times_a = times_block_size(setting, a);
  const auto times_b = times_block_size(setting, b);
  if (times_a || times_b) return times_a == times_b;
  EngineSettings of_a;
  EngineSettings of_b;
  return set_setting_text(of_a, setting, a).ok() && set_setting_text(of_b, setting, b).ok() &&
         of_a == of_b;
}

Status check_value(const Setting& setting, const std::string& value) {
  if (times_block_size(setting, value)) return Ok{};
  EngineSettings scratch;
  const Status set = set_setting_text(scratch, setting, value);
  if (set.ok() || setting.kind != SettingKind::integer) return set;
  return invalid_input(set.error().message +
                       "; a range such as 0..3, or 2x for twice the block size");
}

Status add_values(const Setting& setting, std::string_view text, std::vector<std::string>& values) {
  const auto range = setting.kind == SettingKind::integer ? range_of(text) : std::nullopt;
  if (range && range->first > range->last)
    return invalid_input(fmt::format("{}: {} is above {}", text, range->first, range->last));
  if (range) {
    if (Status added = add_range(*range, values); !added.ok()) return added;
  } else {
    values.emplace_back(text);
  }
  return Ok{};
}

}  // namespace

Result<SweepAxis> parse_sweep(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0)
    return invalid_input(
        fmt::format("{} is no sweep (expected NAME=VALUE,VALUE,... such as max_num_seqs=64..512)",
                    quoted_text(text)));
  std::string_view name = text.substr(0, equals);
  while (name.starts_with('-')) name.remove_prefix(1);
  const auto setting = setting_called(name);
  if (!setting.ok()) return setting.error();
  if (setting.value()->kind == SettingKind::integer_list)
    return invalid_input(
        fmt::format("{} is a list itself and cannot be swept", setting_path(*setting.value())));
  SweepAxis axis{.setting = setting.value(), .values = {}};
  std::vector<std::string> values;
  for (const std::string_view part : split_text(text.substr(equals + 1), ','))
    if (Status added = add_values(*axis.setting, part, values); !added.ok())
      return invalid_input(
          fmt::format("{}: {}", setting_path(*axis.setting), added.error().message));
  for (std::string& value : values) {
    if (Status fits = check_value(*axis.setting, value); !fits.ok()) return fits.error();
    const bool is_there = std::ranges::any_of(axis.values, [&](const std::string& earlier) {
      return are_equal(*axis.setting, earlier, value);
    });
    if (!is_there) axis.values.push_back(std::move(value));
  }
  return axis;
}

Result<std::vector<SweepAxis>> parse_axes(std::span<const std::string> texts) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : texts) {
    auto axis = parse_sweep(text);
    if (!axis.ok()) return axis.error();
    axes.push_back(std::move(axis).value());
  }
  return axes;
}

EngineSettings without_swept(const EngineSettings& settings, std::span<const SweepAxis> axes) {
  EngineSettings rest;
  for (const Setting& setting : settings_table()) {
    const auto value = get_setting(settings, setting);
    if (value && std::ranges::find(axes, &setting, &SweepAxis::setting) == axes.end())
      (void)set_setting(rest, setting, *value);
  }
  return rest;
}

Sweep::Sweep(EngineSettings base, std::vector<SweepAxis> axes)
    : base_(std::move(base)), axes_(std::move(axes)) {}

Result<Sweep> Sweep::create(EngineSettings base, std::vector<SweepAxis> axes) {
  Sweep sweep(std::move(base), std::move(axes));
  for (std::size_t i = 0; i < sweep.axes_.size(); ++i) {
    const SweepAxis& axis = sweep.axes_[i];
    HS_EXPECT(!axis.values.empty());
    const std::string path = setting_path(*axis.setting);
    for (std::size_t j = 0; j < i; ++j)
      if (sweep.axes_[j].setting == axis.setting)
        return invalid_input(path + " is swept twice; give all its values at once");
    if (get_setting(sweep.base_, *axis.setting))
      return invalid_input(fmt::format("{} is both set and swept; give one of the two", path));
    sweep.num_all_ *= static_cast<std::int64_t>(axis.values.size());
    if (sweep.num_all_ > kMostCombinations)
      return invalid_input(
          fmt::format("more than {} combinations; sweep fewer values", kMostCombinations));
  }
  sweep.find_distinct();
  return sweep;
}

bool Sweep::sweeps(std::string_view path) const {
  return std::ranges::any_of(
      axes_, [&](const SweepAxis& axis) { return setting_path(*axis.setting) == path; });
}

std::vector<std::int32_t> Sweep::standing_for(std::vector<std::int32_t> values) const {
  bool is_none = false;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    is_none = is_none || is_mode_none(axes_[i], values[i]);
  if (!is_none || sweeps("enable_prefix_caching")) return values;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (is_of_prefix_caching(*axes_[i].setting)) values[i] = 0;
  return values;
}

void Sweep::find_distinct() {
  for (std::int64_t number = 0; number < num_all_; ++number)
    if (number_of(standing_for(values_at(number))) == number) distinct_.push_back(number);
  if (std::ssize(distinct_) == num_all_) distinct_.clear();
}

std::string Sweep::name_of(const std::vector<std::int32_t>& values) const {
  if (axes_.empty()) return "as given";
  std::string name;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    name += fmt::format("{}{}={}", i == 0 ? "" : " ", axes_[i].setting->name,
                        axes_[i].values[static_cast<std::size_t>(values[i])]);
  return name;
}

std::vector<std::int32_t> Sweep::values_at(std::int64_t number) const {
  std::vector<std::int32_t> values(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    const auto count = static_cast<std::int64_t>(axes_[i].values.size());
    values[i] = static_cast<std::int32_t>(number % count);
    number /= count;
  }
  return values;
}

std::int64_t Sweep::number_of(const std::vector<std::int32_t>& values) const {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    number = number * static_cast<std::int64_t>(axes_[i].values.size()) + values[i];
  return number;
}

PlanCase Sweep::at(std::int64_t index) const {
  HS_EXPECT(index >= 0 && index < size());
  PlanCase made{
      .values = values_at(distinct_.empty() ? index : distinct_[static_cast<std::size_t>(index)]),
      .name = {}};
  made.name = name_of(made.values);
  return made;
}

std::int64_t Sweep::index_of(const PlanCase& of) const {
  const std::int64_t number = number_of(standing_for(of.values));
  if (distinct_.empty()) return number;
  return std::ranges::lower_bound(distinct_, number) - distinct_.begin();
}

std::optional<PlanCase> Sweep::called(std::string_view name) const {
  PlanCase of{.values = {}, .name = std::string(name)};
  std::string_view rest = name;
  for (const SweepAxis& axis : axes_) {
    const std::string start =
        fmt::format("{}{}=", of.values.empty() ? "" : " ", axis.setting->name);
    if (!rest.starts_with(start)) return std::nullopt;
    rest.remove_prefix(start.size());
    std::ptrdiff_t longest = -1;  // a value may begin as another one does
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      const std::string& value = axis.values[i];
      const bool ends =
          rest.size() == value.size() || (rest.size() > value.size() && rest[value.size()] == ' ');
      if (rest.starts_with(value) && ends &&
          (longest < 0 || value.size() > axis.values[static_cast<std::size_t>(longest)].size()))
        longest = static_cast<std::ptrdiff_t>(i);
    }
    if (longest < 0) return std::nullopt;
    of.values.push_back(static_cast<std::int32_t>(longest));
    rest.remove_prefix(axis.values[static_cast<std::size_t>(longest)].size());
  }
  const bool is_one = name_of(of.values) == name && standing_for(of.values) == of.values;
  return is_one ? std::optional(std::move(of)) : std::nullopt;
}

Result<EngineSettings> Sweep::settings(const PlanCase& of, const std::string& model) const {
  return settings_with(of, model);
}
Result<EngineSettings> Sweep::settings(const PlanCase& of, const ModelSpec& model) const {
  return settings_with(of, model);
}

std::int64_t Sweep::num_changes(const PlanCase& of, const std::string& model) const {
  const auto started = [&](std::vector<SweepAxis> axes) {
    const Sweep one(base_, std::move(axes));
    const auto settings = one.settings(one.at(0), model);
    const auto setup = settings.ok() ? make_engine_setup(model, settings.value())
                                     : Result<EngineSetup>(settings.error());
    return setup.ok() ? std::optional(settings_of(setup.value().config)) : std::nullopt;
  };
  const auto by_itself = started({});
  std::int64_t changes = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const std::string& value = axes_[i].values[static_cast<std::size_t>(of.values[i])];
    if (started({{.setting = axes_[i].setting, .values = {value}}}) != by_itself) ++changes;
  }
  return changes;
}

template <class Model>
Result<EngineSettings> Sweep::settings_with(const PlanCase& of, const Model& model) const {
  EngineSettings settings = base_;
  std::vector<std::pair<const Setting*, std::int64_t>> of_block_size;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const Setting& setting = *axes_[i].setting;
    const std::string& value = axes_[i].values[static_cast<std::size_t>(of.values[i])];
    if (const auto times = times_block_size(setting, value)) {
      of_block_size.emplace_back(&setting, *times);
    } else if (Status set = set_setting_text(settings, setting, value); !set.ok()) {
      return set.error();
    }
  }
  if (sweeps("mamba_cache_mode") && !sweeps("enable_prefix_caching")) {
    follow_mode(settings);
    if (settings.mamba_cache_mode == MambaCacheMode::none)
      std::erase_if(of_block_size,
                    [](const auto& one) { return is_of_prefix_caching(*one.first); });
  }
  // No drafts need no method, whatever the rest says.
  if (settings.num_speculative_tokens == 0 && !sweeps("speculative_config/method"))
    settings.speculative_method = SpeculativeMethod::none;
  if (of_block_size.empty()) return settings;
  const auto setup = make_engine_setup(model, settings);
  if (!setup.ok()) return setup.error();
  const std::int64_t block_size = setup.value().layout.page_size.choice.block_size;
  for (const auto& [setting, times] : of_block_size) {
    if (times > setting->max / block_size)
      return invalid_input(fmt::format("{} is {} times the block size {} (allowed: {})",
                                       setting_path(*setting), times, block_size,
                                       allowed_values(*setting)));
    if (Status set = set_setting(settings, *setting, times * block_size); !set.ok())
      return set.error();
  }
  return settings;
}

}  // namespace hybridscope
