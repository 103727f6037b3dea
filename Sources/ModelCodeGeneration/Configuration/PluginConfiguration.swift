// PluginConfiguration: what a target's CipherDataModel.json says of its models.
public import Foundation
import ObjectModel

/// The models of a target and what their source is to look like, as `CipherDataModel.json` says.
///
/// ```json
/// { "models": [ { "model": "Schemas/DebianArchive.xcdatamodeld", "access": "internal", "imports": ["Prices"] } ] }
/// ```
///
/// One model may stand without the list. Paths begin at the package's folder.
public struct PluginConfiguration: Sendable, Hashable {
  /// A model.
  public struct Model: Sendable, Hashable {
    /// The path of the model's file or bundle, as it is written.
    public var path: String
    /// The name of the model; nil for its file's.
    public var name: String?
    /// What the source is to look like; without the module when none is named.
    public var options: CodeGenerationOptions
    /// Whether what is likely a mistake in the model's file (``ModelFileLint``) stops the build.
    public var isStrict: Bool
    /// The line of the file that names the model, from 1.
    public var line: Int
  }

  /// The models, one at least.
  public let models: [Model]

  /// Reads the file.
  ///
  /// - Parameters:
  ///   - data: The file's bytes.
  ///   - access: Who sees the classes of a model that says nothing of it.
  /// - Throws: ``PluginConfigurationError`` with the line.
  @_optimize(none) public init(_ data: Data, access: CodeGenerationOptions.Access = .public) throws(PluginConfigurationError) {
    let (top, line) = try LinedJSON.parse(data)
    let members = try top.members("the file needs a \"model\" with a path, or \"models\" with a list of such", line)
    guard let list = members["models"] else {
      models = [try Self.model(members, access, line: line)]
      return
    }
    if let other = members.filter({ $0.key != "models" }).min(by: { $0.value.line < $1.value.line }) {
      throw PluginConfigurationError(
        line: other.value.line, reason: "\"\(other.key)\" belongs to a model: write it inside \"models\", beside that model's \"model\"")
    }
    guard case .array(let elements) = list.value else {
      throw PluginConfigurationError(line: list.line, reason: "\"models\" must be a list of objects, each with a \"model\"")
    }
    if elements.isEmpty { throw PluginConfigurationError(line: list.line, reason: "\"models\" is empty: name a model, or remove the file") }
    var models: [Model] = []
    for element in elements {
      let members = try element.value.members("each of \"models\" must be an object with a \"model\"", element.line)
      models.append(try Self.model(members, access, line: element.line))
    }
    self.models = models
  }

  /// The name that may be meant, or all.
  private static func advice(for name: String, among names: [String], _ start: String) -> String {
    SimilarName.of(name, among: names).map { "did you mean \"\($0)\"?" } ?? start + names.joined(separator: ", ")
  }

  private static let keys = ["access", "imports", "model", "module", "name", "split", "strict"]

  @_optimize(none) private static func model(
    _ members: [String: LinedJSON.Lined], _ access: CodeGenerationOptions.Access, line: Int
  ) throws(PluginConfigurationError) -> Model {
    if let other = members.filter({ !keys.contains($0.key) }).min(by: { $0.value.line < $1.value.line }) {
      throw PluginConfigurationError(
        line: other.value.line, reason: "a model has no \"\(other.key)\"; \(advice(for: other.key, among: keys, "it has: "))")
    }
    func text(_ key: String) throws(PluginConfigurationError) -> String? {
      guard let member = members[key] else { return nil }
      guard case .text(let text) = member.value, !text.isEmpty else {
        throw PluginConfigurationError(line: member.line, reason: "\"\(key)\" must be a text, and not an empty one")
      }
      return text
    }
    guard let path = try text("model") else {
      throw PluginConfigurationError(line: line, reason: "\"model\" is missing: the path of a model, from the package's folder")
    }
    var options = CodeGenerationOptions(access: access, moduleName: try text("module"))
    if let access = try text("access") {
      guard let known = CodeGenerationOptions.Access(rawValue: access) else {
        throw PluginConfigurationError(
          line: members["access"]?.line ?? line,
          reason: "there is no access \"\(access)\"; "
            + advice(for: access, among: CodeGenerationOptions.Access.allCases.map(\.rawValue), "there are: "))
      }
      options.access = known
    }
    if let imports = members["imports"] {
      guard case .array(let elements) = imports.value else {
        throw PluginConfigurationError(line: imports.line, reason: "\"imports\" must be a list of names of modules")
      }
      for element in elements {
        guard case .text(let name) = element.value else {
          throw PluginConfigurationError(line: element.line, reason: "\"imports\" must be a list of names of modules")
        }
        options.imports.append(name)
      }
    }
    func flag(_ key: String) throws(PluginConfigurationError) -> Bool {
      guard let member = members[key] else { return false }
      guard case .boolean(let value) = member.value else {
        throw PluginConfigurationError(line: member.line, reason: "\"\(key)\" must be true or false")
      }
      return value
    }
    options.isSplit = try flag("split")
    let isStrict = try flag("strict")
    return Model(path: path, name: try text("name"), options: options, isStrict: isStrict, line: members["model"]?.line ?? line)
  }
}

/// What is wrong with a `CipherDataModel.json`, and where.
public struct PluginConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line, from 1.
  public let line: Int
  /// What is wrong and what to do.
  public let reason: String

  /// The line and the reason.
  public var description: String { "\(line): error: \(reason)" }
}
