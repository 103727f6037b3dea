public import Foundation
import ObjectModel

/// The models of a target and the options of their generated source, as given in `CipherDataModel.json`.
///
/// ```json
/// { "models": [ { "model": "Schemas/DebianArchive.xcdatamodeld", "access": "internal", "imports": ["Prices"] } ] }
/// ```
///
/// A single model can be given without the list. Paths are relative to the package's folder.
public struct PluginConfiguration: Sendable, Hashable {
  /// A model and its options.
  public struct Model: Sendable, Hashable {
    /// The path of the model file or bundle as written.
    public var path: String
    /// The name of the model; `nil` to use the name of its file.
    public var name: String?
    /// The options of the generated source. The module is not set if the configuration does not name one.
    public var options: CodeGenerationOptions
    /// Whether findings of ``ModelFileLint`` stop the build.
    public var isStrict: Bool
    /// The line number at which the file names the model, from 1.
    public var line: Int
  }

  /// The models; at least one.
  public let models: [Model]

  /// Parses the configuration file.
  ///
  /// - Parameters:
  ///   - data: The bytes of the file.
  ///   - access: The access level of models that do not specify one.
  /// - Throws: ``PluginConfigurationError`` with the line number.
  @_optimize(none) public init(_ data: Data, access: CodeGenerationOptions.Access = .public) throws(PluginConfigurationError) {
    let (top, line) = try LineNumberedJSON.parse(data)
    let members = try top.members("the file needs a \"model\" with a path, or \"models\" with a list of such", line)
    guard let list = members["models"] else {
      models = [try Self.model(members, access, line: line)]
      return
    }
    if let other = members.filter({ $0.key != "models" }).min(by: { $0.value.line < $1.value.line }) {
      throw PluginConfigurationError(
        line: other.value.line, reason: "\"\(other.key)\" belongs to a model: write it inside \"models\", next to that model's \"model\"")
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

  /// Returns the closest valid name, or a list of all.
  private static func advice(for name: String, among names: [String], _ start: String) -> String {
    SimilarName.of(name, among: names).map { "did you mean \"\($0)\"?" } ?? start + names.joined(separator: ", ")
  }

  private static let keys = ["access", "imports", "model", "module", "name", "split", "strict"]

  @_optimize(none) private static func model(
    _ members: [String: LineNumberedJSON.LineNumbered], _ access: CodeGenerationOptions.Access, line: Int
  ) throws(PluginConfigurationError) -> Model {
    if let other = members.filter({ !keys.contains($0.key) }).min(by: { $0.value.line < $1.value.line }) {
      throw PluginConfigurationError(
        line: other.value.line, reason: "a model has no \"\(other.key)\"; \(advice(for: other.key, among: keys, "it has: "))")
    }
    func text(_ key: String) throws(PluginConfigurationError) -> String? {
      guard let member = members[key] else { return nil }
      guard case .text(let text) = member.value, !text.isEmpty else {
        throw PluginConfigurationError(line: member.line, reason: "\"\(key)\" must be a nonempty string")
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

/// An error in a `CipherDataModel.json` and its position.
public struct PluginConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line number, from 1.
  public let line: Int
  /// What is wrong and what to do.
  public let reason: String

  /// The line and the reason.
  public var description: String { "\(line): error: \(reason)" }
}
