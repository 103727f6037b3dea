import ArgumentParser
import Foundation
import ModelCodeGeneration
import ObjectModel

/// Prints and checks models.
struct ModelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model", abstract: "Show, compare, check and format models, and add versions to them.",
    subcommands: [Show.self, Diagram.self, Difference.self, Lint.self, Format.self, AddVersion.self])

  /// `model show`.
  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show a model as text.")
    @Argument(help: "An .xcdatamodeld or .xcdatamodel.") var model: String
    @Option(help: "The output format.") var format = Form.text

    func run() async throws { try ModelCommand.show(model, format) }
  }

  /// `model diagram`.
  struct Diagram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Draw a model.")
    @Argument(help: "An .xcdatamodeld or .xcdatamodel.") var model: String
    @Option(help: "The output format. Graphviz, if installed, lays out svg.") var format = Form.mermaid

    func run() async throws { try ModelCommand.show(model, format) }
  }

  /// The output formats.
  enum Form: String, ExpressibleByArgument, CaseIterable, Sendable {
    case text, mermaid, dot, svg
  }

  private static func show(_ path: String, _ format: Form) throws {
    let model = try ModelCommand.model(path, validates: false)
    _ = try CompiledModel(model)
    let text =
      switch format {
      case .text: ModelDescriptionPrinter.text(model)
      case .mermaid: ModelDiagram.mermaid(model)
      case .dot: ModelDiagram.dot(model)
      case .svg: ModelDrawing.svg(model)
      }
    let sink = OutputSink()
    try sink.write(text.hasSuffix("\n") ? text : text + "\n")
    try sink.flush()
  }
}

extension ModelCommand {
  /// `model diff`.
  struct Difference: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff", abstract: "List the changes between two versions of a model, and whether stores can be migrated.",
      discussion: """
        A bundle (.xcdatamodeld) stands for its current version; --from and --to name others. With one bundle, its current version is compared with the \
        one that --from names.

          cipherdata model diff Old.xcdatamodeld New.xcdatamodeld
          cipherdata model diff Library.xcdatamodeld --from "Library 1"
        """)
    @Argument(help: "The older model.") var older: String
    @Argument(help: "The newer model; by default, the older one's bundle.") var newer: String?
    @Option(help: ArgumentHelp("The version of the older bundle.", valueName: "version")) var from: String?
    @Option(help: ArgumentHelp("The version of the newer bundle.", valueName: "version")) var to: String?

    func validate() throws {
      if newer == nil, from == nil, to == nil {
        throw ValidationError("A model cannot be compared with itself. Name a second model, or a version with --from.")
      }
    }

    func run() async throws {
      let source = try CompiledModel(try ModelCommand.model(older, version: from))
      let destination = try CompiledModel(try ModelCommand.model(newer ?? older, version: to))
      try ModelFindings.reportRenamings(
        of: destination.model, at: try ModelCommand.url(newer ?? older, version: to), from: source.model)
      let difference = ModelDifference(from: source, to: destination)
      let sink = OutputSink()
      for change in difference.changes { try sink.write(change.description + "\n") }
      try sink.write(summary(difference) + "\n")
      try sink.flush()
    }

    private func summary(_ difference: ModelDifference) -> String {
      if difference.isEmpty { return "No difference." }
      if difference.hasEqualHashes { return "Stores of the older version are compatible with the newer one." }
      let count = difference.obstacles.count
      if count == 0 { return "The change can be inferred." }
      return count == 1 ? "One change cannot be inferred." : "\(count) changes cannot be inferred."
    }
  }

  /// `model lint`.
  struct Lint: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check a model for errors and likely mistakes.",
      discussion: """
        Errors make a model invalid. Warnings become errors with “strict”: in create, import, migrate, generate, the build plugin and \
        the library. Notes are advice and never become errors. The exit status is 65 if the model has errors or, with --strict, warnings.

        With --sync, the command prints how synchronization merges concurrent changes of each property, what cannot be synchronized yet \
        (errors), and what may surprise (warnings), such as a count that is not declared as a counter.

          cipherdata model lint Library.xcdatamodeld --sync
        """)
    @Argument(help: "An .xcdatamodeld or .xcdatamodel.") var model: String
    @Flag(help: "Treat every warning as an error, as --strict of the other commands does.") var strict = false
    @Flag(help: "Print how synchronization merges each property, and check whether the model can be synchronized.") var sync = false
    @Option(help: "The output format of --sync.") var format = Form.text

    /// The output formats.
    enum Form: String, ExpressibleByArgument, CaseIterable, Sendable {
      case text, json
    }

    func validate() throws {
      if format != .text, !sync { throw ValidationError("--format is for the output of --sync.") }
    }

    func run() async throws {
      if sync { return try printMerging() }
      let url = URL.path(model)
      let findings = try ModelFindings(of: try ManagedObjectModel(contentsOf: url), at: url)
      let (errors, warnings, notes) = (findings.mistakes + findings.predicates, findings.warnings, try findings.notes())
      let sink = OutputSink()
      for error in errors { try sink.write("error: \(error.description)\n") }
      for warning in warnings { try sink.write("warning: \(strict ? warning.problem : warning.description)\n") }
      for note in notes { try sink.write("note: \(note.description)\n") }
      if errors.isEmpty, warnings.isEmpty, notes.isEmpty { try sink.write("No issues found.\n") }
      try sink.flush()
      if !errors.isEmpty || strict && !warnings.isEmpty {
        let counts = [(errors.count, "error"), (warnings.count, "warning")].filter { $0.0 > 0 }
        throw ToolError(
          .badData, "The model has \(counts.map { CountText.text($0.0, $0.1) }.joined(separator: " and ")).")
      }
    }

    private func printMerging() throws {
      let report = try ModelSyncReport(of: try ModelCommand.model(model, strict: strict), path: model)
      let sink = OutputSink()
      try report.write(format, to: sink)
      try sink.flush()
      try report.check(strict: strict)
    }
  }

  /// `model add-version`.
  struct AddVersion: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add-version", abstract: "Copy a model's current version, and make the copy current.",
      discussion: """
        Add a version before changing a model whose stores are in use, and then change the copy. The older version stays in the bundle unchanged.

          cipherdata model add-version Library.xcdatamodeld
          cipherdata model diff Library.xcdatamodeld --from Library
        """)
    @Argument(help: "An .xcdatamodeld.") var model: String
    @Option(help: ArgumentHelp("The version's name; by default, the model's with the next number.", valueName: "name")) var name: String?

    func run() async throws {
      let name = try VersionedModel.addVersion(named: name, toBundleAt: .path(model))
      let sink = OutputSink()
      try sink.write("The current version is “\(name)”.\n")
      try sink.flush()
    }
  }

  /// `model format`.
  struct Format: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Write a model file in its canonical form.",
      discussion: """
        The order of attributes, indentation and spelling are normalized. Nothing but comments is lost. A model of Xcode 3 gets a file \
        that every later Xcode reads. --sort orders entities and properties by name, as Apple's editor does, so that concurrent \
        additions rarely conflict.
        """)
    @Argument(help: "An .xcdatamodeld or .xcdatamodel.") var model: String
    @Flag(help: "Sort entities and properties by name.") var sort = false
    @Flag(help: "Write nothing; fail if the file is not in canonical form.") var check = false

    func run() async throws {
      let url = URL.path(model)
      var odd: [String] = []
      for file in try files(in: url) {
        let data = try Data(contentsOf: file)
        var read = try ManagedObjectModel(xmlData: data, path: file.path)
        if sort { read.sortByName() }
        let formatted = try read.xmlData()
        guard formatted != data else { continue }
        odd.append(file.deletingLastPathComponent().lastPathComponent)
        // A model of Xcode 3 gets a `contents` file next to its own; readers prefer that file.
        if !check { try FileReplacement.write(formatted, to: file.deletingLastPathComponent().appendingPathComponent("contents")) }
      }
      let sink = OutputSink()
      for name in odd { try sink.write("\(name): \(check ? "not in canonical form" : "formatted")\n") }
      try sink.flush()
      if check, !odd.isEmpty { throw ToolError(.failure, "Run “cipherdata model format \(model)\(sort ? " --sort" : "")”.") }
    }

    /// Returns the `contents` files of all versions of a bundle, or of one version.
    private func files(in url: URL) throws -> [URL] {
      func file(_ version: URL) -> URL {
        let contents = version.appendingPathComponent("contents")
        let old = version.appendingPathComponent("elements")
        return !FileManager.default.fileExists(atPath: contents.path) && FileManager.default.fileExists(atPath: old.path) ? old : contents
      }
      guard url.pathExtension == "xcdatamodeld" else { return [file(url)] }
      return try VersionedModel(contentsOf: url).versions.map { file(url.appendingPathComponent($0.name + ".xcdatamodel")) }
    }
  }

  /// Reads a version of a model file, by default the current one, and reports its warnings on standard error.
  ///
  /// - Parameters:
  ///   - strict: Whether a warning is an error.
  ///   - validates: Whether an invalid model is an error.
  static func model(_ path: String, version: String? = nil, strict: Bool = false, validates: Bool = true) throws -> ManagedObjectModel {
    let url = try url(path, version: version)
    let model = try ManagedObjectModel(contentsOf: url)
    try ModelFindings(of: model, at: url).report(strict: strict, validates: validates)
    return model
  }

  /// Returns the location of a model file or of one of its versions.
  static func url(_ path: String, version: String?) throws -> URL {
    let url = URL.path(path)
    guard let version else { return url }
    // Read the other versions too: a damaged bundle is rejected as a whole.
    let bundle = try VersionedModel(contentsOf: url)
    guard bundle.version(named: version) != nil else {
      throw ToolError(
        .usage, "The bundle \(path) has no version “\(version)”; \(ToolError.advice(for: version, among: bundle.versions.map(\.name)))")
    }
    return url.appendingPathComponent(version + ".xcdatamodel")
  }
}
