// The forms in which a command may be pasted: shells, containers, YAML.
#include <gmock/gmock.h>

#include <string>

#include "sessions/plan/container_spec.h"
#include "sessions/plan/serve_line.h"

namespace hybridscope::pasted_forms_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ServeLine parsed(const std::string& text) {
  auto line = ServeLine::parse(text);
  if (!line.ok()) ADD_FAILURE() << text << ": " << line.error().message;
  return line.value();
}

std::string error_of(const std::string& text) {
  const auto line = ServeLine::parse(text);
  return line.ok() ? "no error" : line.error().message;
}

std::string with_64_sequences(const std::string& text) {
  const ServeLine line = parsed(text);
  EngineSettings wanted = line.settings();
  wanted.max_num_seqs = 64;
  wanted.runner = ModelRunner::v2;
  return line.with(wanted).text;
}

// A shell's text.

TEST(PastedShell, WhatFollowsTheCommandStaysAndIsSaid) {
  const ServeLine line = parsed("vllm serve m --max-num-seqs 8 2>&1 | tee log");
  EXPECT_EQ(line.settings().max_num_seqs, 8);
  EXPECT_THAT(line.notes(), ElementsAre("not read, behind the command: 2>&1 | tee log"));
  EXPECT_EQ(with_64_sequences("nohup vllm serve m > log 2>&1 &"),
            "VLLM_USE_V2_MODEL_RUNNER=1 nohup vllm serve m --max-num-seqs 64 > log 2>&1 &");
}

TEST(PastedShell, ARedirectionIsNoArgument) {
  EXPECT_THAT(parsed("vllm serve m > log.txt --max-num-seqs 8").not_read(), IsEmpty());
  EXPECT_EQ(parsed("vllm serve m &>> log --max-num-seqs 8").settings().max_num_seqs, 8);
}

TEST(PastedShell, PromptsAreNoWords) {
  for (const char* prompt : {"$ ", "> ", "user@host:~/x$ ", "(venv) user@host:~$ ",
                             "[root@node ~]# ", "(base) user@host folder % ", "root@pod:/# "})
    EXPECT_EQ(with_64_sequences(prompt + std::string("vllm serve m")),
              prompt + std::string("VLLM_USE_V2_MODEL_RUNNER=1 vllm serve m --max-num-seqs 64"));
  EXPECT_EQ(parsed("# vllm serve m").model(), "m");
  EXPECT_EQ(parsed("$ vllm serve m \\\n>   --max-num-seqs 8").settings().max_num_seqs, 8);
}

TEST(PastedShell, SudoDropsVariablesBeforeIt) {
  EXPECT_EQ(with_64_sequences("sudo vllm serve m"),
            "sudo VLLM_USE_V2_MODEL_RUNNER=1 vllm serve m --max-num-seqs 64");
}

TEST(PastedShell, ALineGoesOnBehindABackslashWithSpacesAndBeforeAFlag) {
  EXPECT_EQ(parsed("vllm serve m \\  \n  --max-num-seqs 8").settings().max_num_seqs, 8);
  EXPECT_EQ(parsed("vllm serve m\n--max-num-seqs 8").settings().max_num_seqs, 8);
  EXPECT_EQ(parsed("vllm serve m `\n  --max-num-seqs 8").settings().max_num_seqs, 8);
  EXPECT_EQ(parsed("vllm serve\n  m\n  --max-num-seqs\n  8").settings().max_num_seqs, 8);
}

TEST(PastedShell, AnotherLineIsAnotherCommand) {
  const ServeLine line = parsed("cd /x && pip install vllm\nvllm serve m --port 80\ncurl -s x:80");
  EXPECT_EQ(line.model(), "m");
  EXPECT_THAT(line.not_read(), ElementsAre("--port 80"));
  EXPECT_THAT(line.notes(), ElementsAre("not read, behind the command: curl -s x:80"));
}

TEST(PastedShell, VariablesReachTheServerFromExportAndItsOwnCommand) {
  const std::string variable = "VLLM_USE_V2_MODEL_RUNNER=1";
  for (const std::string before : {"", "export ", "env ", "FOO=1 "})
    EXPECT_EQ(parsed(before + variable + " vllm serve m").settings().runner, ModelRunner::v2);
  EXPECT_EQ(parsed("export " + variable + "\nvllm serve m").settings().runner, ModelRunner::v2);
  EXPECT_EQ(parsed(variable + "; vllm serve m").settings().runner, ModelRunner::v2);
  EXPECT_EQ(parsed(variable + " other; vllm serve m").settings().runner, std::nullopt);
}

TEST(PastedShell, TheServerMayBeStartedInManyWays) {
  for (const char* start :
       {"vllm serve m", "uv run vllm serve m", "/opt/venv/bin/vllm serve m",
        "uv run --with vllm vllm serve m", "python -m vllm.entrypoints.cli.main serve m",
        "python3 -u -m vllm.entrypoints.openai.api_server --model m",
        "python vllm/entrypoints/openai/api_server.py --model=m", "bash -c 'vllm serve m'",
        "screen -dmS x bash -lc \"cd /x && exec vllm serve m\"", "docker exec -it x vllm serve m"})
    EXPECT_EQ(parsed(start).model(), "m") << start;
}

TEST(PastedShell, SaysWhatIsWrong) {
  EXPECT_THAT(error_of("vllm serve m -tp <N>"), HasSubstr("\"<N>\" is a placeholder"));
  EXPECT_THAT(error_of("vllm serve m -tp $(nproc"), HasSubstr("'$(' is not closed"));
  EXPECT_THAT(error_of("docker run -it ubuntu bash"), HasSubstr("runs no image of vLLM"));
  EXPECT_THAT(error_of("docker run --gpus all vllm/vllm-openai bash"),
              HasSubstr("runs no image of vLLM"));
}

// Containers.

TEST(PastedContainer, TheWordsBehindTheImageAreThoseOfVllmServe) {
  const std::string docker =
      "docker run --gpus all -e VLLM_USE_V2_MODEL_RUNNER=0 -v a:b -p8000:8000 -it --name=x "
      "vllm/vllm-openai:v0.28.0 --model m --max-num-seqs 8";
  const ServeLine line = parsed(docker);
  EXPECT_EQ(line.model(), "m");
  EXPECT_EQ(line.settings().max_num_seqs, 8);
  EXPECT_EQ(line.settings().runner, ModelRunner::v1);
  EXPECT_EQ(release_of(line.settings()), Release::v0_28_0);
  EXPECT_EQ(line.with(line.settings()).text, docker);
  EXPECT_EQ(with_64_sequences(docker),
            "docker run --gpus all -e VLLM_USE_V2_MODEL_RUNNER=1 -v a:b -p8000:8000 -it --name=x "
            "vllm/vllm-openai:v0.28.0 --model m --max-num-seqs 64");
  EXPECT_EQ(with_64_sequences("podman run x/vllm m"),
            "podman run -e VLLM_USE_V2_MODEL_RUNNER=1 x/vllm m --max-num-seqs 64");
}

TEST(PastedContainer, ACommandInARunningOneTakesVariablesAsOptions) {
  EXPECT_EQ(with_64_sequences("docker exec -it vllm vllm serve m"),
            "docker exec -e VLLM_USE_V2_MODEL_RUNNER=1 -it vllm vllm serve m --max-num-seqs 64");
  EXPECT_THAT(error_of("docker exec -it vllm nvidia-smi"), HasSubstr("runs no image of vLLM"));
  EXPECT_THAT(error_of("docker run x/vllm vllm bench serve"), HasSubstr("runs no image of vLLM"));
}

TEST(PastedContainer, VariablesOfTheHostDoNotReachIt) {
  const ServeLine line = parsed("VLLM_USE_V2_MODEL_RUNNER=1 docker run x/vllm m");
  EXPECT_EQ(line.settings().runner, std::nullopt);
}

TEST(PastedContainer, EntrypointsAndShellsOfTheContainer) {
  for (const char* command :
       {"docker run --entrypoint vllm x/y serve m", "docker run --entrypoint=vllm x/y serve m",
        "docker run --entrypoint python3 x/y -m vllm.entrypoints.openai.api_server --model m",
        "docker run x/y vllm serve m", "docker run x/vllm serve m",
        "docker run --entrypoint bash x/vllm -c \"pip install a && vllm serve m\"",
        "sudo docker container run --rm x/vllm:latest sh -c 'vllm serve m'",
        "docker run -dit -m 8g --shm-size 1g --ulimit stack=1 nvcr.io/nvidia/vllm:25.12 "
        "vllm serve m"})
    EXPECT_EQ(parsed(command).model(), "m") << command;
}

TEST(PastedContainer, VariablesReachTheScriptOfItsShell) {
  EXPECT_EQ(with_64_sequences("docker run -e VLLM_USE_V2_MODEL_RUNNER=0 -e HF_TOKEN=t x/vllm "
                              "bash -c 'cd /x && vllm serve m'"),
            "export VLLM_USE_V2_MODEL_RUNNER=1 \ncd /x && vllm serve m --max-num-seqs 64");
}

TEST(PastedContainer, TheTagNamesTheRelease) {
  const auto release = [](const std::string& image) {
    return release_of(parsed("docker run " + image + " m").settings());
  };
  EXPECT_EQ(release("vllm/vllm-openai:v0.24.0-cu129-ubuntu2404"), Release::v0_24_0);
  EXPECT_EQ(release("host:5000/vllm/vllm-openai:v0.25.0@sha256:12ab"), Release::v0_25_1);
  EXPECT_EQ(release("vllm/vllm-openai:latest"), std::nullopt);
  EXPECT_EQ(release("vllm/vllm-openai"), std::nullopt);
  EXPECT_EQ(release("host:5000/vllm"), std::nullopt);
  EXPECT_EQ(release("nvcr.io/nvidia/vllm:25.12.post1-py3"), std::nullopt);
  EXPECT_EQ(release("vllm/vllm-openai:v0.28.0rc1"), std::nullopt);
  EXPECT_THAT(parsed("docker run vllm/vllm-openai:v0.20.0 m").notes(),
              ElementsAre("the image is vLLM 0.20.0, which is not modelled: --engine chooses a "
                          "release"));
}

// YAML.

TEST(PastedYaml, ComposeTakesTextsAndLists) {
  for (const char* command :
       {"command: --model m --max-num-seqs 8", "command: [--model, m, --max-num-seqs, \"8\"]",
        "command: >\n      --model m\n      --max-num-seqs 8",
        "command: |\n      m\n      --max-num-seqs 8",
        "command:\n      - m\n      - --max-num-seqs=8",
        "entrypoint: vllm serve\n    command: m --max-num-seqs 8",
        "entrypoint: [\"/bin/bash\", \"-c\", \"pip install a && exec vllm serve \\\"$$@\\\"\", "
        "\"--\"]\n    command: [m, --max-num-seqs, \"8\"]"}) {
    const ServeLine line = parsed("services:\n  vllm:\n    image: vllm/vllm-openai:v0.33.0\n    " +
                                  std::string(command) + "\n");
    EXPECT_EQ(line.model(), "m") << command;
    EXPECT_EQ(line.settings().max_num_seqs, 8) << command;
    EXPECT_EQ(release_of(line.settings()), Release::v0_33_0) << command;
  }
}

TEST(PastedYaml, KubernetesTakesCommandAndArgs) {
  for (const char* command :
       {"args: [m, --max-num-seqs, \"8\"]", "args:\n  - --model=m\n  - --max-num-seqs=8",
        "command: [vllm, serve]\n  args: [m, --max-num-seqs=8]",
        "command: [/bin/sh, -c]\n  args:\n  - |\n    vllm serve m \\\n      --max-num-seqs 8",
        "command: [\"/bin/sh\", \"-c\"]\n  args: [\"vllm serve $(MODEL) --max-num-seqs 8\"]",
        "command:\n  - python3 -m vllm.entrypoints.openai.api_server --model m --max-num-seqs 8"}) {
    const ServeLine line = parsed(
        "- name: x\n  image: vllm/vllm-openai:latest\n  env:\n"
        "  - {name: MODEL, value: m}\n  " +
        std::string(command) + "\n");
    EXPECT_EQ(line.model(), "m") << command;
    EXPECT_EQ(line.settings().max_num_seqs, 8) << command;
  }
}

TEST(PastedYaml, ArgumentsWithoutAnImageAreThoseOfVllmIfTheyLookLikeThem) {
  EXPECT_EQ(parsed("args:\n- --model=m\n- --max-num-seqs=8\n").model(), "m");
  EXPECT_EQ(parsed("image: {repository: vllm/vllm-openai, tag: v0.28.0}\nargs: [m]\n").model(),
            "m");
  EXPECT_THAT(error_of("args: [--config, x]\n"), HasSubstr("no container of the YAML"));
}

TEST(PastedYaml, IsWrittenBackAsALine) {
  const ServeLine line = parsed(
      "image: vllm/vllm-openai\nenvironment:\n  VLLM_USE_V2_MODEL_RUNNER: 0\n  HF_TOKEN: t\n"
      "command: >\n  --model m --speculative-config '{\"method\": \"mtp\"}'\n");
  EXPECT_EQ(line.text(),
            "VLLM_USE_V2_MODEL_RUNNER=0 vllm serve --model m --speculative-config "
            "'{\"method\": \"mtp\"}'");
  EXPECT_THAT(line.notes(), Contains("the container's command and args are one line of vllm serve "
                                     "here"));
}

TEST(PastedYaml, VariablesOfComposeHaveTheirDefaults) {
  const ServeLine line = parsed(
      "image: ${IMAGE:-vllm/vllm-openai:${TAG:-v0.28.0}}\ncommand: --model ${MODEL-m} "
      "--max-num-seqs ${N:-8} --port ${PORT}\n");
  EXPECT_EQ(line.model(), "m");
  EXPECT_EQ(line.settings().max_num_seqs, 8);
  EXPECT_EQ(release_of(line.settings()), Release::v0_28_0);
  EXPECT_THAT(line.not_read(), ElementsAre("--port '${PORT}'"));
}

TEST(PastedYaml, TheFirstContainerThatStartsVllmIsRead) {
  const ServeLine line = parsed(
      "kind: Deployment\nspec:\n  initContainers:\n  - image: python\n    command: [python3, a]\n"
      "  containers:\n  - image: x/vllm\n    args: [m]\n---\nspec:\n  containers:\n"
      "  - {image: x/vllm, args: [n]}\n");
  EXPECT_EQ(line.model(), "m");
  EXPECT_THAT(line.notes(), Contains("2 containers start vLLM; the first is read"));
}

TEST(PastedYaml, SaysWhatIsWrong) {
  EXPECT_THAT(error_of("image: a\ncommand: [b"), HasSubstr("line 3 of the YAML: "));
  EXPECT_THAT(error_of("image: nginx\ncommand: [nginx]\n"),
              HasSubstr("no container of the YAML starts vLLM"));
  EXPECT_THAT(error_of("image: x/vllm\ncommand: --model 'm\n"),
              HasSubstr("a quote (') is not closed"));
  EXPECT_FALSE(is_container_spec("docker run --image x vllm"));
}

// An anchor that is used many times is looked at once.
TEST(PastedYaml, AnchorsAreNoWork) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before +
            "]\n";
  }
  EXPECT_EQ(parsed(text + "image: x/vllm\nargs: [m]\n").model(), "m");
}

}  // namespace
}  // namespace hybridscope::pasted_forms_test
