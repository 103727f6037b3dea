import Foundation
import ObjectModel
import ObjectQuery
import SQLCipherStore

/// The errors and warnings of a model file with their positions, the same for every command.
struct ModelFindings {
  /// A finding and its position.
  struct Entry {
    /// The position and the finding, including the substitute that is used.
    let description: String
    /// The same without the substitute, for error messages.
    let problem: String

    init(_ finding: ModelFileLint.Finding) {
      description = finding.description
      problem = "\(finding.location): \(finding.problem)"
    }

    init(_ issue: ModelIssue, _ locations: ModelFileLocations) {
      let location = locations.location(entity: issue.entityName, property: issue.propertyName)
      description = "\(location): \(issue)"
      problem = "\(location): \(issue.withoutSubstitute)"
    }
  }

  /// The errors that make the model unusable for stores.
  let mistakes: [Entry]
  /// The predicates of the model that cannot be parsed. Stores can use the model, but not the features that depend on these predicates.
  let predicates: [Entry]
  /// The warnings, which `--strict` turns into errors.
  let warnings: [Entry]
  private let model: ManagedObjectModel
  private let url: URL
  private let locations: ModelFileLocations

  /// Checks a model.
  ///
  /// - Parameter url: The file from which the model was read.
  init(of model: ManagedObjectModel, at url: URL) throws {
    let locations = try ModelFileLocations(ofModelAt: url)
    (self.model, self.url, self.locations) = (model, url, locations)
    mistakes = model.validationIssues().map { Entry($0, locations) }
    let compiled = try? CompiledModel(model)
    predicates = ((compiled.map(DerivationFilter.issues) ?? []) + Self.predicateIssues(in: model)).map { Entry($0, locations) }
    let ofStores = compiled.map { IndexFormats.warnings(in: $0) + SQLCipherStoreFile.limitIssues(of: $0) } ?? []
    // Findings that are already reported as errors are omitted.
    let isMistake = Set(mistakes.map(\.description))
    warnings =
      try ModelFileLint.findings(inModelAt: url).map { Entry($0) }.filter { !isMistake.contains($0.description) }
      + ofStores.map { Entry($0, locations) }
  }

  /// Returns advice about valid elements of a model that are likely mistakes. For a bundle, its versions are also compared.
  func notes() throws -> [Entry] {
    let advice =
      url.pathExtension == "xcdatamodeld" ? ModelLint.advice(in: try VersionedModel(contentsOf: url)) : ModelLint.advice(in: model)
    return advice.map { Entry($0, locations) }
  }

  /// Reports the warnings on standard error, up to a limit.
  ///
  /// - Parameters:
  ///   - strict: Whether a warning is an error.
  ///   - validates: Whether an invalid model is an error.
  /// - Throws: ``ToolError`` with the positions.
  func report(strict: Bool, validates: Bool) throws {
    if validates, !mistakes.isEmpty {
      throw Self.refusal("The model has \(mistakes.count == 1 ? "a mistake" : "\(mistakes.count) mistakes"): ", mistakes)
    }
    try Self.report(warnings + predicates, strict: strict)
  }

  /// Reports renaming identifiers of a newer model that match nothing in the older one. For a bundle of several versions, the warnings of
  /// the file already include them.
  ///
  /// - Parameters:
  ///   - model: The newer model.
  ///   - url: The file from which it was read.
  ///   - older: The older model.
  ///   - strict: Whether a warning is an error.
  /// - Throws: ``ToolError`` with the positions, if strict.
  static func reportRenamings(
    of model: ManagedObjectModel, at url: URL, from older: ManagedObjectModel, strict: Bool = false
  ) throws {
    let bundle = [url, url.deletingLastPathComponent()].first { $0.pathExtension == "xcdatamodeld" }
    if let bundle, try VersionedModel(contentsOf: bundle).versions.count > 1 { return }
    let issues = model.renamingIssues(among: [older])
    if issues.isEmpty { return }
    let locations = try ModelFileLocations(ofModelAt: url)
    try report(issues.map { Entry($0, locations) }, strict: strict)
  }

  private static func report(_ findings: [Entry], strict: Bool) throws {
    if strict, !findings.isEmpty {
      let count = findings.count == 1 ? "a warning" : "\(findings.count) warnings"
      throw refusal("--strict rejects the model, which has \(count): ", findings)
    }
    for finding in findings.prefix(20) { Tool.note("warning: \(finding.description)") }
    if findings.count > 20 { Tool.note("warning: and \(findings.count - 20) more; “cipherdata model lint” prints all") }
  }

  private static func refusal(_ start: String, _ findings: [Entry]) -> ToolError {
    let rest = findings.count > 50 ? "; and \(findings.count - 50) more" : ""
    return ToolError(.badData, start + findings.prefix(50).map(\.problem).joined(separator: "; ") + rest)
  }

  /// Returns the model's predicates that are not valid in the format language.
  private static func predicateIssues(in model: ManagedObjectModel) -> [ModelIssue] {
    var issues: [ModelIssue] = []
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
