// ModelMaintenanceCommands: `cipherdata model diff`, `lint` and `format`.
import ArgumentParser
import Foundation
import ObjectModel
import ObjectQuery
import SQLCipherStore

extension ModelCommand {
  /// `model diff`.
  struct Difference: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff", abstract: "Say what changed between two versions of a model, and whether stores can follow.",
      discussion: """
        A bundle (.xcdatamodeld) stands for its current version; --from and --to name others. With one bundle, its current version is compared with the \
        one that --from names.

          cipherdata model diff Old.xcdatamodeld New.xcdatamodeld
          cipherdata model diff Library.xcdatamodeld --from "Library 1"
        """)
    @Argument(help: "The older model.") var older: String
    @Argument(help: "The newer model; the older one's bundle if left out.") var newer: String?
    @Option(help: ArgumentHelp("The version of the older bundle.", valueName: "version")) var from: String?
    @Option(help: ArgumentHelp("The version of the newer bundle.", valueName: "version")) var to: String?

    func validate() throws {
      if newer == nil, from == nil, to == nil {
        throw ValidationError("One model cannot differ from itself. Give a second one, or a version with --from.")
      }
    }

    func run() async throws {
      let source = try CompiledModel(try ModelCommand.model(older, version: from))
      let destination = try CompiledModel(try ModelCommand.model(newer ?? older, version: to))
      let difference = ModelDifference(from: source, to: destination)
      let sink = OutputSink()
      for change in difference.changes { try sink.write(change.description + "\n") }
      try sink.write(summary(difference) + "\n")
      try sink.flush()
    }

    private func summary(_ difference: ModelDifference) -> String {
      if difference.isEmpty { return "No difference." }
      if difference.hasEqualHashes { return "A store of the older version is one of the newer version too." }
      let count = difference.obstacles.count
      if count == 0 { return "The change can be inferred." }
      return count == 1 ? "One change cannot be inferred." : "\(count) changes cannot be inferred."
    }
  }

  /// `model lint`.
  struct Lint: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check a model for mistakes, and for what is allowed but likely one.",
      discussion: "The exit status is 65 if the model has errors, or, with --strict, warnings.")
    @Argument(help: "An .xcdatamodeld or .xcdatamodel.") var model: String
    @Flag(help: "Treat every warning as an error.") var strict = false

    func run() async throws {
      let url = URL.path(model)
      let model = try ManagedObjectModel(contentsOf: url)
      let locations = try ModelFileLocations(ofModelAt: url)
      func place(_ issue: ModelIssue) -> String {
        "\(locations.location(entity: issue.entityName, property: issue.propertyName)): \(issue)"
      }
      let mistakes = model.validationIssues() + Self.predicateIssues(in: model)
      // Of a bundle its versions are compared as well.
      let findings =
        url.pathExtension == "xcdatamodeld" ? ModelLint.findings(in: try VersionedModel(contentsOf: url)) : ModelLint.findings(in: model)
      // Missing inverses are told by the model's own findings.
      let lines = try ModelFileLint.findings(inModelAt: url).filter { $0.kind != .missingInverse }.map(\.description)
      let warnings = lines + (ModelCommand.storeWarnings(of: model) + findings).map(place)
      let sink = OutputSink()
      for issue in mistakes { try sink.write("error: \(place(issue))\n") }
      for warning in warnings { try sink.write("warning: \(warning)\n") }
      if mistakes.isEmpty, warnings.isEmpty { try sink.write("Nothing to say.\n") }
      try sink.flush()
      if !mistakes.isEmpty || strict && !warnings.isEmpty {
        let counts = [(mistakes.count, "error"), (warnings.count, "warning")].filter { $0.0 > 0 }
        throw ToolError(
          .badData, "The model has \(counts.map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }.joined(separator: " and ")).")
      }
    }

    /// Predicates of the model that are none in format language, and filters of derived attributes that ask for what they cannot.
    private static func predicateIssues(in model: ManagedObjectModel) -> [ModelIssue] {
      var issues = (try? CompiledModel(model)).map(DerivationFilter.issues) ?? []
      func check(_ format: String?, _ entity: String?, _ name: String) {
        guard let format, !format.isEmpty else { return }
        do { _ = try FetchPredicate(format: format) } catch {
          issues.append(ModelIssue(entityName: entity, propertyName: name, reason: "its predicate cannot be read: \(error)"))
        }
      }
      for entity in model.entities {
        for property in entity.fetchedProperties { check(property.predicateFormat, entity.name, property.name) }
      }
      for template in model.fetchRequestTemplates { check(template.predicateFormat, nil, template.name) }
      return issues
    }
  }

  /// `model add-version`.
  struct AddVersion: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add-version", abstract: "Copy a model's current version, and make the copy current.",
      discussion: """
        Do so before changing a model whose stores are with users: the older version stays in the bundle as they know it. Change the copy then.

          cipherdata model add-version Library.xcdatamodeld
          cipherdata model diff Library.xcdatamodeld --from Library
        """)
    @Argument(help: "An .xcdatamodeld.") var model: String
    @Option(help: ArgumentHelp("The version's name; the model's with the next number if left out.", valueName: "name")) var name: String?

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
        The order of attributes, indentation and spelling become one; nothing that the file says is lost, comments excepted. A model of Xcode 3 gets a file \
        that every later Xcode reads. With --sort, entities and \
        properties are put in the order of their names, as Apple's editor does, so that two people's additions seldom meet.
        """)
    @Argument(help: "An .xcdatamodeld or .xcdatamodel.") var model: String
    @Flag(help: "Put entities and properties in the order of their names.") var sort = false
    @Flag(help: "Write nothing; end with a failure when the file is not in canonical form.") var check = false

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
        // A model of Xcode 3 gets a contents file next to its own, and readers prefer that file.
        if !check { try FileReplacement.write(formatted, to: file.deletingLastPathComponent().appendingPathComponent("contents")) }
      }
      let sink = OutputSink()
      for name in odd { try sink.write("\(name): \(check ? "not in canonical form" : "formatted")\n") }
      try sink.flush()
      if check, !odd.isEmpty { throw ToolError(.failure, "Run “cipherdata model format \(model)\(sort ? " --sort" : "")”.") }
    }

    /// The `contents` files of a bundle's versions, or of one version.
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

  /// Reads a version of a model file, by default the current one. Reports parts that cannot be used on standard error, with the line and the substitute.
  ///
  /// - Parameters:
  ///   - strict: Whether what cannot be used is an error.
  ///   - validates: Whether a model with mistakes is an error.
  static func model(_ path: String, version: String? = nil, strict: Bool = false, validates: Bool = true) throws -> ManagedObjectModel {
    var url = URL.path(path)
    if let version {
      // The others are read too: a bundle that is damaged is refused as a whole.
      let bundle = try VersionedModel(contentsOf: url)
      guard bundle.version(named: version) != nil else {
        let names = bundle.versions.map { "“\($0.name)”" }.joined(separator: ", ")
        throw ToolError(.usage, "The bundle \(path) has no version “\(version)”; it has \(names).")
      }
      url.appendPathComponent(version + ".xcdatamodel")
    }
    let model = try ManagedObjectModel(contentsOf: url)
    try checkMeaning(of: model, at: url, strict: strict, validates: validates)
    return model
  }

  /// Reports the mistakes of a model with their positions as an error, and what cannot be used as warnings; of many warnings the first.
  private static func checkMeaning(of model: ManagedObjectModel, at url: URL, strict: Bool, validates: Bool) throws {
    let locations = try ModelFileLocations(ofModelAt: url)
    func place(_ issue: ModelIssue) -> String {
      "\(locations.location(entity: issue.entityName, property: issue.propertyName)): \(issue)"
    }
    func refuse(_ issues: [ModelIssue]) throws {
      guard !issues.isEmpty else { return }
      let rest = issues.count > 50 ? "; and \(issues.count - 50) more" : ""
      throw ToolError(
        .badData,
        "The model has \(issues.count == 1 ? "a mistake" : "\(issues.count) mistakes"): "
          + issues.prefix(50).map(place).joined(separator: "; ") + rest)
    }
    if validates { try refuse(model.validationIssues()) }
    let formats = (try? CompiledModel(model)).map(IndexFormats.warnings) ?? []
    if strict {
      // As the build plugin's "strict" has it.
      let findings = try ModelFileLint.findings(inModelAt: url).map(\.description) + formats.map(place)
      guard findings.isEmpty else {
        let rest = findings.count > 50 ? "; and \(findings.count - 50) more" : ""
        throw ToolError(
          .badData, "--strict refuses the model. Without it there are warnings: " + findings.prefix(50).joined(separator: "; ") + rest)
      }
    }
    // A file that cannot be read is reported where it is read.
    let findings = try ModelFileLint.unusableParts(ofModelAt: url).map(\.description) + formats.map(place)
    for finding in findings.prefix(20) { Tool.note("warning: \(finding)") }
    if findings.count > 20 { Tool.note("warning: and \(findings.count - 20) more; “cipherdata model lint” tells all") }
  }

  /// What a store cannot hold of a model, or leaves out.
  fileprivate static func storeWarnings(of model: ManagedObjectModel) -> [ModelIssue] {
    guard let compiled = try? CompiledModel(model) else { return [] }
    return IndexFormats.warnings(in: compiled) + SQLCipherStoreFile.limitIssues(of: compiled)
  }
}
