// swift-tools-version: 6.1
// Fuzzing: the parsers of CipherData under libFuzzer. Scripts/torture --only fuzz builds and runs it.
import PackageDescription

let package = Package(
  name: "Fuzzing",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "CipherData", path: "..")],
  targets: [
    // In C, since libFuzzer provides the main function.
    .executableTarget(
      name: "fuzz", dependencies: [.product(name: "_FuzzTargets", package: "CipherData")],
      linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])])
  ]
)
