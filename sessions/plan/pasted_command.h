// Where a pasted text starts vLLM: by itself, in a container, or in a script of another shell.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "sessions/plan/shell_words.h"

namespace hybridscope {

struct PastedCommand {
  ShellWords line;                     // all words up to the server's last one
  std::size_t first_argument = 0;      // of `vllm serve`, or of the server's module
  std::vector<std::size_t> variables;  // words that give the server NAME=VALUE
  std::size_t variable_place = 0;      // the word before which a new variable is put
  bool in_container = false;           // a variable is "-e NAME=VALUE"
  std::string image;                   // of the container; empty: none, or not named
  std::vector<std::string> notes;      // on what of the text is not in `line`
};

// The first command of the text with
//   vllm serve, python -m vllm.entrypoints.openai.api_server or .cli.main serve, whatever stands
//   before it; docker (podman, nerdctl) run with an image of vLLM; sh -c with such a script;
//   a container in YAML (container_spec.h), as a line of vllm serve.
// Errors: there is none; those of split_shell_words.
Result<PastedCommand> find_pasted_command(std::string_view text);

// A container's command, in words, as a line that a shell could run in it.
struct ContainerCommand {
  std::string image;
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> words;  // entrypoint, if one is given, command, arguments
};

// "VLLM_X=1 vllm serve MODEL", or the script behind sh -c; empty: nothing starts vLLM.
std::string line_of_container(const ContainerCommand& container);

}  // namespace hybridscope
