// CLI11's classes by name, for headers: all of CLI/CLI.hpp is 81,000 lines.
#pragma once

namespace CLI {
class App;
class Validator;
}  // namespace CLI
