public import Foundation
public import ObjectModel

/// A generator for the typed classes of a model. The build-tool plugin generates one file; `cipherdata generate` generates one file per
/// class.
///
/// The same model and options always produce the same bytes. All types and extensions are `nonisolated`, because objects belong to the
/// isolation of their context, regardless of the target's default isolation (Swift 6.1 and later accept the modifier there).
public struct ModelCodeGenerator: Sendable {
  private let model: CompiledModel
  private let name: String
  private let options: CodeGenerationOptions
  private let plans: ClassPlans
  private let composites: CompositePlans
  private let versions: VersionPlan?

  /// Creates a generator for a model.
  ///
  /// - Parameters:
  ///   - model: The model.
  ///   - name: The name of the model. The source declares an enumeration `NameModel` with the model and its table of classes.
  ///   - options: The options of the generated source.
  /// - Throws: ``ModelValidationError`` with all errors of the model, or ``CodeGenerationError``.
  public init(model: ManagedObjectModel, name: String, options: CodeGenerationOptions = CodeGenerationOptions()) throws {
    try self.init(model, name, options, nil)
  }

  /// Creates a generator for a model file. For a bundle, the classes are those of its current version; the other versions are included for
  /// migrations.
  ///
  /// - Parameters:
  ///   - url: An `.xcdatamodeld` or `.xcdatamodel` bundle, or its `contents` file.
  ///   - name: The name of the model; `nil` to use the name of its file.
  ///   - options: The options of the generated source.
  /// - Throws: ``ModelFileError``, ``ModelValidationError`` with all errors of the model, or ``CodeGenerationError``.
  @_optimize(none) public init(contentsOf url: URL, name: String? = nil, options: CodeGenerationOptions = CodeGenerationOptions()) throws {
    let name = name ?? url.deletingPathExtension().lastPathComponent
    if url.pathExtension == "xcdatamodeld" {
      let bundle = try VersionedModel(contentsOf: url)
      if let model = bundle.current {
        try self.init(model, name, options, try VersionPlan(bundle))
        return
      }
    }
    try self.init(try ManagedObjectModel(contentsOf: url), name, options, nil)
  }

  @_optimize(none) private init(_ model: ManagedObjectModel, _ name: String, _ options: CodeGenerationOptions, _ versions: VersionPlan?)
    throws
  {
    for module in options.imports where !module.split(separator: ".").allSatisfy({ SwiftText.isIdentifier(String($0)) }) || module.isEmpty {
      throw CodeGenerationError.badImport(module)
    }
    self.model = try CompiledModel(model)
    self.name = SwiftText.plainIdentifier(name)
    self.options = options
    plans = try ClassPlans(self.model, options: options)
    // A struct is renamed if it would shadow a type that the source uses.
    self.versions = versions
    composites = CompositePlans(self.model, taken: Self.usedNames.union(plans.ownNames))
  }

  /// The name of the enumeration that contains the model, extended if a class has the same name.
  private var modelName: String {
    let taken = ownNames.union(ShadowedNames.ofLibrary)
    var result = name + "Model"
    while taken.contains(result) { result += "Description" }
    return result
  }

  /// The names of the generated classes and structs.
  private var ownNames: Set<String> { plans.ownNames.union(composites.plans.map { ShadowedNames.plain($0.typeName) }) }
  /// The names of all types that the source declares at module level.
  private var declaredNames: Set<String> {
    ownNames.union(plans.plans.map { ShadowedNames.plain($0.declaredName) }).union([modelName])
  }

  /// Returns the whole source as one file.
  ///
  /// - Throws: ``CodeGenerationError`` if an attribute's value class is not a valid Swift type.
  public func source() throws(CodeGenerationError) -> String {
    try Self.source(of: [self], fileName: "\(name)+ManagedObjects.swift")
  }

  /// Returns the classes of several models as one file.
  ///
  /// - Parameters:
  ///   - generators: The generators of the models.
  ///   - fileName: The name of the file.
  /// - Throws: ``CodeGenerationError`` if an attribute's value class is not a valid Swift type, or two models have the same name.
  @_optimize(none) public static func source(of generators: [ModelCodeGenerator], fileName: String) throws(CodeGenerationError) -> String {
    var imports = ImportLines()
    var text = ""
    var names: Set<String> = []
    for generator in generators {
      guard names.insert(generator.modelName).inserted else { throw .sharedName(generator.modelName) }
      let (body, needs) = try generator.body()
      let shadowed = ShadowedNames(hiddenBy: generators.flatMap(\.declaredNames))
      imports.add(needs, generator.options)
      text += (text.isEmpty ? "" : "\n") + shadowed.resolved(body)
    }
    return head(of: fileName, generators.map(\.name), imports) + text
  }

  @_optimize(none) private func body() throws(CodeGenerationError) -> (text: String, needs: ImportNeeds) {
    var body = SwiftEmitter()
    var needs = modelEmitter.emit(to: &body)
    let (structs, classes) = (compositeEmitter, classEmitter)
    for plan in composites.plans {
      body.line()
      needs.add(try structs.emit(plan, to: &body))
    }
    for plan in plans.plans {
      body.line()
      needs.add(try classes.emit(plan, to: &body))
    }
    return (body.text, needs)
  }

  /// Returns one file for the model, one for each composite, and one for each class.
  ///
  /// - Throws: ``CodeGenerationError`` if an attribute's value class is not a valid Swift type.
  @_optimize(none) public func files() throws(CodeGenerationError) -> [GeneratedFile] {
    var result: [GeneratedFile] = []
    var emitter = SwiftEmitter()
    let needs = modelEmitter.emit(to: &emitter)
    let file = "\(modelName).swift"
    let shadowed = ShadowedNames(hiddenBy: declaredNames)
    result.append(GeneratedFile(name: file, contents: head(of: file, needs) + shadowed.resolved(emitter.text)))
    let (structs, classes) = (compositeEmitter, classEmitter)
    for plan in composites.plans {
      var emitter = SwiftEmitter()
      let needs = try structs.emit(plan, to: &emitter)
      let file = "\(ShadowedNames.plain(plan.typeName)).swift"
      result.append(GeneratedFile(name: file, contents: head(of: file, needs) + shadowed.resolved(emitter.text)))
    }
    for plan in plans.plans {
      var emitter = SwiftEmitter()
      let needs = try classes.emit(plan, to: &emitter)
      let file = ShadowedNames.plain(plan.isDeclared ? "\(plan.declaredName).swift" : "\(plan.className)+Properties.swift")
      result.append(GeneratedFile(name: file, contents: head(of: file, needs) + shadowed.resolved(emitter.text)))
    }
    return result
  }

  private var modelEmitter: ModelEmitter {
    ModelEmitter(
      options: options, name: modelName, model: model, plans: plans, composites: composites, hiddenNames: hiddenNames,
      versions: versions)
  }

  private var compositeEmitter: CompositeEmitter {
    CompositeEmitter(options: options, forms: AttributeForms(hiddenNames: hiddenNames), plans: composites, modelName: modelName)
  }

  private var classEmitter: ClassEmitter {
    ClassEmitter(
      options: options, classNames: plans.classNames, forms: AttributeForms(hiddenNames: hiddenNames), composites: composites,
      modelName: modelName)
  }

  /// The names of types of Swift and Foundation that the source uses.
  private static let usedNames = Set(AttributeType.allCases.compactMap(\.traits.swiftType?.name)).union(["Set", "Array", "Range", "Int"])

  /// Those that a class of the model shadows.
  private var hiddenNames: Set<String> { Self.usedNames.intersection(plans.ownNames) }

  private func head(of file: String, _ needs: ImportNeeds) -> String {
    var imports = ImportLines()
    imports.add(needs, options)
    return Self.head(of: file, [name], imports)
  }

  private static func head(of file: String, _ names: [String], _ imports: ImportLines) -> String {
    let models = names.count == 1 ? "model \(names[0])" : "models \(names.joined(separator: ", "))"
    let lines = [
      "// \(file)", "// Generated by CipherData from the \(models). Do not edit: the next build overwrites this file.",
      "// swift-format-ignore-file", "",
    ]
    return (lines + imports.lines).joined(separator: "\n") + "\n\n"
  }
}
