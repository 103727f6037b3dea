// ModelFindings: what the tool reports of a model's file.
import Foundation
import ObjectModel
import ObjectQuery
import SQLCipherStore

/// The mistakes and warnings of a model's file with their positions, the same for each command.
struct ModelFindings {
  /// A finding and its position.
  struct Finding {
    /// The position and the finding, with what is used instead.
    let description: String
    /// The same without what is used instead, for an error.
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

  /// Why no store can have the model.
  let mistakes: [Finding]
  /// The predicates of the model that cannot be read. A store can have the model; what they are for fails.
  let predicates: [Finding]
  /// What `--strict` refuses.
  let warnings: [Finding]
  private let model: ManagedObjectModel
  private let url: URL
  private let locations: ModelFileLocations

  /// Checks a model.
  ///
  /// - Parameter url: The file that the model was read from.
  init(of model: ManagedObjectModel, at url: URL) throws {
    let locations = try ModelFileLocations(ofModelAt: url)
    (self.model, self.url, self.locations) = (model, url, locations)
    mistakes = model.validationIssues().map { Finding($0, locations) }
    let compiled = try? CompiledModel(model)
    predicates = ((compiled.map(DerivationFilter.issues) ?? []) + Self.predicateIssues(in: model)).map { Finding($0, locations) }
    let ofStores = compiled.map { IndexFormats.warnings(in: $0) + SQLCipherStoreFile.limitIssues(of: $0) } ?? []
    // A mistake of the model is an error already.
    let isMistake = Set(mistakes.map(\.description))
    warnings =
      try ModelFileLint.findings(inModelAt: url).map { Finding($0) }.filter { !isMistake.contains($0.description) }
      + ofStores.map { Finding($0, locations) }
  }

  /// Advice about what a model may say but is likely a mistake; of a bundle also about its versions.
  func notes() throws -> [Finding] {
    let advice =
      url.pathExtension == "xcdatamodeld" ? ModelLint.advice(in: try VersionedModel(contentsOf: url)) : ModelLint.advice(in: model)
    return advice.map { Finding($0, locations) }
  }

  /// Reports the warnings on standard error; of many the first.
  ///
  /// - Parameters:
  ///   - strict: Whether a warning is an error.
  ///   - validates: Whether a mistake is an error.
  /// - Throws: ``ToolError`` with the positions.
  func report(strict: Bool, validates: Bool) throws {
    if validates, !mistakes.isEmpty {
      throw Self.refusal("The model has \(mistakes.count == 1 ? "a mistake" : "\(mistakes.count) mistakes"): ", mistakes)
    }
    let findings = warnings + predicates
    if strict, !findings.isEmpty { throw Self.strictRefusal(findings) }
    Self.note(findings)
  }

  /// Reports renaming identifiers of a newer model that lead to nothing in the older one. In a bundle of several versions they are among the warnings of the file.
  ///
  /// - Throws: ``ToolError`` with the positions, if strict.
  func reportRenamings(from older: ManagedObjectModel, strict: Bool = false) throws {
    let bundle = [url, url.deletingLastPathComponent()].first { $0.pathExtension == "xcdatamodeld" }
    if let bundle, try VersionedModel(contentsOf: bundle).versions.count > 1 { return }
    let findings = model.renamingIssues(among: [older]).map { Finding($0, locations) }
    if strict, !findings.isEmpty { throw Self.strictRefusal(findings) }
    Self.note(findings)
  }

  private static func strictRefusal(_ findings: [Finding]) -> ToolError {
    let count = findings.count == 1 ? "a warning" : "\(findings.count) warnings"
    return refusal("--strict refuses the model, which has \(count): ", findings)
  }

  private static func note(_ findings: [Finding]) {
    for finding in findings.prefix(20) { Tool.note("warning: \(finding.description)") }
    if findings.count > 20 { Tool.note("warning: and \(findings.count - 20) more; “cipherdata model lint” prints all") }
  }

  private static func refusal(_ start: String, _ findings: [Finding]) -> ToolError {
    let rest = findings.count > 50 ? "; and \(findings.count - 50) more" : ""
    return ToolError(.badData, start + findings.prefix(50).map(\.problem).joined(separator: "; ") + rest)
  }

  /// Predicates of the model that are not in format language.
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
