/// A list in the repository that is generated from the sources. It depends only on their text, not on a build or the compiler's version.
/// Scripts/api-baseline writes it, and the tests of this folder compare it.
struct PinnedList {
  let path: String
  let heading: [String]
  let lines: [String]

  func write() throws {
    try Repository.write((heading.map { "# " + $0 } + lines).joined(separator: "\n") + "\n", to: path)
  }
}

enum PinnedLists {
  static var all: [PinnedList] { get throws { try publicInterfaces + [hiddenTypes, generatedCode, uncheckedUses] } }

  /// Modules that users do not import: tools, macros and their components.
  private static let internalModules: Set<String> = [
    "AccessorSymbols", "CipherDataMacros", "CipherDataTool", "CipherDataToolKit", "ModelCodeGeneration", "generate-core-data-sources",
    "generate-managed-objects",
  ]

  /// The public declarations of each module.
  static var publicInterfaces: [PinnedList] {
    get throws {
      try Repository.folders(in: "Sources").filter { !internalModules.contains($0) }.compactMap { module in
        let files = Repository.sources.filter { $0.file.hasPrefix("Sources/\(module)/") }
        let lines = files.flatMap { PublicDeclarations.of($0.text) }.sorted()
        // System libraries have no declarations, nor do modules that only export others.
        guard !lines.isEmpty else { return nil }
        return PinnedList(
          path: "Documentation/API/\(module).txt", heading: ["The public declarations of \(module). Written by Scripts/api-baseline."],
          lines: lines)
      }
    }
  }

  /// The declarations of all modules that only generated code and the library's modules see.
  static var generatedCode: PinnedList {
    get throws {
      let lines = try Repository.folders(in: "Sources").filter { !internalModules.contains($0) }.flatMap { module in
        Repository.sources.filter { $0.file.hasPrefix("Sources/\(module)/") }.flatMap { source in
          PublicDeclarations(source.text).linesForGeneratedCode.map { "\(module).\($0)" }
        }
      }
      return PinnedList(
        path: "Documentation/API/Generated.txt",
        heading: [
          "The declarations with @_spi(Generated): for generated code and the library's modules. Written by Scripts/api-baseline."
        ], lines: lines.sorted())
    }
  }

  /// The types visible to authors of stores but not to applications.
  static var hiddenTypes: PinnedList {
    get throws {
      PinnedList(
        path: "Documentation/API/CipherDataEngine.txt",
        heading: [
          "The public types that `import CipherData` does not show: what only stores need. Written by Scripts/api-baseline."
        ],
        lines: try UmbrellaModule(UmbrellaModule.application).hiddenTypes().sorted())
    }
  }

  /// The uses of constructs that the compiler does not check, with their reasons.
  static var uncheckedUses: PinnedList {
    var counts: [String: Int] = [:]
    var lines: [String] = []
    for use in UncheckedUse.all(in: Repository.sources) {
      let line = "\(use.file)  \(use.word)  \(use.reason ?? "NO REASON")"
      if counts[line] == nil { lines.append(line) }
      counts[line, default: 0] += 1
    }
    return PinnedList(
      path: "Tests/ArchitectureTests/UnsafeUses.txt",
      heading: [
        "The constructs in Sources that the compiler does not check, and those that end the process: count, file, construct and reason. Review each"
          + " new use.", "Written by Scripts/api-baseline.",
      ], lines: lines.map { "\(counts[$0] ?? 0)  \($0)" })
  }
}
