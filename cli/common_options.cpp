#include "cli/common_options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "sessions/record/step_record.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/number_words.h"
#include "sessions/traffic/load_traffic.h"
#include "storage/session_file.h"

namespace hybridscope {
namespace {

constexpr const char* kStateGroup = "State";
constexpr const char* kNumericWords =
    "numeric: a language model runs on the decisions, its states and text compared with a lone run "
    "of each request";

const CLI::Validator kByteSize(
    [](std::string& text) {
      const auto size = parse_byte_size(text);
      if (!size.ok()) return size.error().message;
      return size.value() > 0 ? std::string() : std::string("no memory at all");
    },
    "", "byte size");

void add_fidelity(CLI::App& command, StateOption& option, const std::string& words,
                  const std::vector<std::string>& names, const std::string& type) {
  command
      .add_option_function<std::string>(
          "--state",
          [&option](const std::string& name) {
            option.fidelity = name == "numeric" ? StateFidelity::numeric
                              : name == "bytes" ? StateFidelity::bytes
                                                : StateFidelity::symbolic;
          },
          words)
      ->check(CLI::IsMember(names))
      ->type_name(type)
      ->group(kStateGroup);
}

void add_model(CLI::App& command, StateOption& option) {
  command
      .add_option("--weights", option.weights,
                  "folder of the language model for --state numeric, which it implies: config.json "
                  "and model.safetensors of Bamba, Qwen3.5, Qwen3-Next without experts or LFM2")
      ->check([](const std::string& folder) {
        return folder.empty() ? std::string("expected a folder, found \"\"") : std::string();
      })
      ->type_name("DIR")
      ->group(kStateGroup);
  command
      .add_option_function<std::string>(
          "--form", [&option](const std::string& name) { option.form = parse_numeric_form(name); },
          "how the language model computes prompt rows: recurrent, token after token (default; "
          "states are compared bit for bit), or chunked, by the builders' chunks (logits are "
          "compared within a tolerance)")
      ->check(CLI::IsMember({"recurrent", "chunked"}))
      ->type_name("recurrent|chunked")
      ->group(kStateGroup);
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const TrafficFormat& format : traffic_formats()) names.emplace_back(format.name);
  return names;
}

// A decimal number in millionths, at least `least` and at most `most`.
std::int64_t millionths_of(const std::string& option, const std::string& text, std::int64_t least,
                           std::int64_t most) {
  const auto value = parse_millionths(text);
  if (!value || *value < least || *value > most)
    throw CLI::ValidationError(
        option, fmt::format("\"{}\" is not a number from {} to {}", text, format_millionths(least),
                            format_millionths(most)));
  return *value;
}

std::string option_group(const Setting& setting) {
  return setting.section == "policies" ? "Policies that override the profile" : "Engine settings";
}

}  // namespace

std::function<int()> run_given(std::vector<Subcommand> subcommands) {
  return [subcommands = std::move(subcommands)] {
    for (const Subcommand& subcommand : subcommands)
      if (subcommand.app->parsed()) return subcommand.run();
    return subcommands.front().run();
  };
}

void add_check_option(CLI::App& command, CheckScope& check) {
  command
      .add_option_function<std::string>(
          "--check", [&check](const std::string& scope) { check = *check_scope_of(scope); },
          "step: what a step wrote or registered (default); all: every registered block too")
      ->check(CLI::IsMember({"step", "all"}))
      ->type_name("step|all");
}

void add_backend_options(CLI::App& command, StateOption& option, const std::string& words,
                         const std::string& group) {
  command
      .add_option_function<std::string>(
          "--backend",
          [&option](const std::string& name) {
            option.backend = name == "cuda" ? StateBackendKind::cuda : StateBackendKind::cpu;
          },
          words)
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->type_name("cpu|cuda")
      ->group(group);
  command
      .add_option_function<std::int32_t>(
          "--device", [&option](std::int32_t device) { option.device = device; },
          "which GPU of --backend cuda (default: 0)")
      ->check(CLI::Range(0, 1023, "0 to 1023"))
      ->type_name("N")
      ->group(group);
}

CLI::Validator is_positive_number() {
  return {[](std::string& text) {
            const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
            return digits && text.find_first_not_of('0') != text.npos
                       ? std::string()
                       : "\"" + text + "\" is not a positive integer";
          },
          "", "positive"};
}

void add_state_options(CLI::App& command, StateOption& option) {
  add_fidelity(command, option,
               std::string("symbolic: a fingerprint of what each block holds (default); bytes: "
                           "also every element of every layer in memory, compared with the "
                           "fingerprints after each step; ") +
                   kNumericWords,
               {"symbolic", "bytes", "numeric"}, "symbolic|bytes|numeric");
  add_model(command, option);
  add_backend_options(
      command, option,
      "where the bytes are kept, or the language model runs: cpu (default) or cuda, which "
      "implies --state bytes without --weights",
      kStateGroup);
  command
      .add_option_function<std::string>(
          "--state-memory",
          [&option](const std::string& text) {
            option.memory_bytes = parse_byte_size(text).value();
          },
          "the most that the bytes may take (default: half of the free memory, of a GPU 15/16)")
      ->check(kByteSize)
      ->type_name("SIZE")
      ->group(kStateGroup);
}

void add_language_options(CLI::App& command, StateOption& option) {
  add_fidelity(command, option, kNumericWords, {"symbolic", "numeric"}, "symbolic|numeric");
  add_model(command, option);
  add_backend_options(command, option, "where the language model runs: cpu (default) or cuda",
                      kStateGroup);
}

void add_record_options(CLI::App& command, RecordOption& option) {
  option.tell = [](const std::string& words) { fmt::print(stderr, "{}\n", words); };
  command
      .add_option("--record", option.place,
                  "keep every step as session NAME of the file (docs/session-format.md); a missing "
                  "file is created, a missing name is chosen")
      ->check(CLI::Validator(
          [](const std::string& place) {
            return parse_session_place(place).file.empty() ? "names no file" : std::string();
          },
          ""))
      ->type_name("FILE.db[:NAME]");
  command
      .add_option_function<std::string>(
          "--record-level",
          [&option](const std::string& level) { option.level = *record_level_of(level); },
          "counts; blocks: rows, block events and copies too (default); full: every decision, "
          "metadata arrays and writes too")
      ->check(CLI::IsMember({"counts", "blocks", "full"}))
      ->needs("--record")
      ->type_name("LEVEL");
}

void add_step_file_options(CLI::App& command, StepFileOptions& options) {
  add_record_options(command, options.record);
}

void add_break_options(CLI::App& command, BreakOption& option) {
  auto* expressions =
      command
          .add_option("--break", option.expressions,
                      "stop after the first step for which the expression holds; may be repeated; "
                      "\"help\" lists what can be asked (docs/debug.md)")
          ->type_name("EXPR")
          ->expected(1)
          ->take_all();
  command.add_option("--break-hits", option.hits, "stop at the N-th such step")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40, "a number from 1 on"))
      ->needs(expressions)
      ->type_name("N");
}

void add_traffic_options(CLI::App& command, TrafficOptions& options) {
  command
      .add_option("--traffic-format", options.format,
                  "format of the traffic file (default: recognised by its content)")
      ->check(CLI::IsMember(format_names()))
      ->type_name("NAME")
      ->needs("--traffic");
  auto* users = command
                    .add_option("--users", options.load.users,
                                "closed loop: N users, who begin their next conversation when "
                                "their last one has ended")
                    ->check(CLI::Range(std::int64_t{1}, kMaxTrafficUsers,
                                       fmt::format("a number from 1 to {}", kMaxTrafficUsers)))
                    ->type_name("N")
                    ->needs("--traffic");
  command
      .add_option_function<std::string>(
          "--think-time",
          [&options](const std::string& text) {
            options.load.think_us = millionths_of("--think-time", text, 0, kMaxThinkUs);
          },
          "from an answer to the next turn of its conversation (default: the file's, else 0)")
      ->type_name("SECONDS")
      ->needs("--traffic");
  command
      .add_option_function<std::string>(
          "--request-rate",
          [&options](const std::string& text) {
            options.load.rate = millionths_of("--request-rate", text, 1, kMaxTrafficRate);
          },
          "conversations begin at random, R a second on average (default: the file's times, "
          "else 1)")
      ->type_name("R")
      ->excludes(users)
      ->needs("--traffic");
}

CLI::Validator is_engine_profile() {
  return CLI::Validator(
      [](std::string& name) {
        const auto called = engine_profile_called(name);
        if (!called.ok()) return called.error().message;
        name = called.value();
        return std::string();
      },
      "");
}

void add_settings_options(CLI::App& command, SettingsOptions& options) {
  for (const Setting& setting : settings_table()) {
    std::string& text = options.text_of(setting);
    const std::string help = std::string(setting.help) + " (" + allowed_values(setting) +
                             "; default: " + std::string(setting.default_text) + ")";
    if (setting.kind == SettingKind::boolean) {
      const std::string name = option_names(setting);
      command.add_flag(name + ",!--no-" + name.substr(2), text, help)->group(option_group(setting));
    } else {
      command.add_option(option_names(setting), text, help)
          ->group(option_group(setting))
          ->type_name("");
    }
  }
  command
      .add_option("--speculative-config", options.speculative_config(),
                  "JSON as vLLM takes it: {\"method\": \"mtp\", \"num_speculative_tokens\": 2}")
      ->group("Engine settings")
      ->type_name("");
}

void add_known_findings_options(CLI::App& command, KnownFindingsOption& option) {
  auto* known_bugs = command.add_flag(
      "--expect-known-bugs", option.known_bugs,
      "findings of known bugs that the engine's profile has do not fail; that a scenario does not "
      "show one that it says it shows does (docs/ci.md)");
  known_bugs->excludes("--twin");
  auto* baseline = command
                       .add_option("--baseline", option.baseline,
                                   "findings that are in this file do not fail (docs/ci.md)")
                       ->type_name("FILE.json")
                       ->excludes("--twin");
  command
      .add_option("--write-baseline", option.write_baseline,
                  "write the findings of this run as a baseline, if it comes to its end; they do "
                  "not fail")
      ->type_name("FILE.json")
      ->excludes("--twin")
      ->excludes(baseline)
      ->excludes(known_bugs);
}

}  // namespace hybridscope
