#include "cli/traffic_options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "sessions/text/decimal.h"
#include "sessions/traffic/traffic_formats.h"

namespace hybridscope {
namespace {

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

}  // namespace

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

std::vector<std::string> traffic_words(const TrafficOptions& options) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, std::string value) {
    words.emplace_back(option);
    words.push_back(std::move(value));
  };
  if (!options.format.empty()) add("--traffic-format", options.format);
  if (options.load.users > 0) add("--users", std::to_string(options.load.users));
  if (options.load.think_us) add("--think-time", format_millionths(*options.load.think_us));
  if (options.load.rate > 0) add("--request-rate", format_millionths(options.load.rate));
  return words;
}

}  // namespace hybridscope
