// PinnedLists: what Scripts/api-baseline writes and the tests of this folder compare with the sources.

/// A list in the repository that follows from the sources. It is made of their text alone: neither a build nor the compiler's version matters.
struct PinnedList {
  let path: String
  let heading: [String]
  let lines: [String]

  /// Writes the list anew.
  func write() throws {
    try Repository.write((heading.map { "# " + $0 } + lines).joined(separator: "\n") + "\n", to: path)
  }
}

enum PinnedLists {
  static var all: [PinnedList] { get throws { try publicInterfaces + [hiddenTypes, uncheckedUses] } }

  /// What no user imports: tools, macros and what they are made of.
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
        // System libraries have none, nor have modules that only export others.
        guard !lines.isEmpty else { return nil }
        return PinnedList(
          path: "Documentation/API/\(module).txt", heading: ["The public declarations of \(module). Written by Scripts/api-baseline."],
          lines: lines)
      }
    }
  }

  /// What an application does not see, and those do who write a store.
  static var hiddenTypes: PinnedList {
    get throws {
      PinnedList(
        path: "Documentation/API/CipherDataEngine.txt",
        heading: [
          "The public types that `import CipherData` does not show: what only stores need. Written by Scripts/api-baseline."
        ],
        lines: try Face(Face.application).hiddenTypes().sorted())
    }
  }

  /// The uses of what the compiler does not check, with the reason of each.
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
        "How often each file of Sources goes past the compiler's checks, or ends the process, and why. A new use needs a reviewer's eye: this list is where"
          + " it shows.", "Written by Scripts/api-baseline.",
      ], lines: lines.map { "\(counts[$0] ?? 0)  \($0)" })
  }
}
