/// A property or method with `@NSManaged` and the symbols by which compiled code calls it.
package struct ManagedAccessor: Sendable {
  package enum Kind: Sendable {
    /// A property. The setter's symbol is unused for read-only properties.
    case property(MangledType, getter: String, setter: String)
    case method(labels: [String?], parameters: [MangledType], result: MangledType, symbol: String)
  }
  package var owner: MangledNominal
  package var name: String
  package var kind: Kind
  package var access: DeclaredAccess
  package var setterAccess: DeclaredAccess
  /// The `#if` conditions of the declaration.
  package var conditions: [String]
  package var file: String
  package var line: Int

  var isMethod: Bool { if case .method = kind { true } else { false } }
}

/// A subclass of `NSManagedObject`.
package struct ManagedClass: Sendable, Equatable {
  package var nominal: MangledNominal
  /// The classes between this class and `NSManagedObject`, nearest first.
  package var superclasses: [MangledNominal] = []
  /// The `#if` conditions of the declaration.
  package var conditions: [String]
}

/// The accessors that the `@NSManaged` declarations of a module need, and the declarations that cannot have accessors.
package struct ManagedAccessors: Sendable {
  package private(set) var accessors: [ManagedAccessor] = []
  package private(set) var issues: [AccessorIssue] = []
  /// The module's subclasses of `NSManagedObject` that are visible to other files.
  package private(set) var classes: [ManagedClass] = []

  /// Examines the sources of a module.
  ///
  /// - Parameters:
  ///   - module: The module.
  ///   - dependencies: The modules that it depends on whose sources are available.
  package init(of module: ScannedModule, dependencies: [ScannedModule] = []) {
    let index = TypeIndex([module] + dependencies)
    let conditions = BuildConditions(modules: index.modules)
    for type in index.declared(in: module.name) {
      guard case .nominal(.classType) = type.kind, !type.isOfFile, !type.isGeneric else { continue }
      let resolver = TypeResolver(index: index, module: module.name, file: type.file, imports: index.modules)
      guard let above = resolver.managedClasses(above: type) else { continue }
      classes.append(ManagedClass(nominal: type.nominal, superclasses: above, conditions: type.conditions))
    }
    for source in module.sources {
      let resolver = TypeResolver(
        index: index, module: module.name, file: source.file,
        imports: Set(source.imports.filter { conditions.mayHold($0.conditions) }.map(\.module)))
      for declaration in source.managed where conditions.mayHold(declaration.conditions) {
        do throws(ResolutionFailure) {
          accessors.append(try Self.accessor(of: declaration, resolver))
        } catch {
          issues.append(
            AccessorIssue(
              file: source.file, line: declaration.line, name: declaration.name, reason: error.reason, conditions: declaration.conditions))
        }
      }
      for line in source.managedInFunctions {
        issues.append(AccessorIssue(file: source.file, line: line, name: "@NSManaged", reason: .declaredInFunction))
      }
    }
  }

  private static func accessor(of declaration: ManagedDeclaration, _ resolver: TypeResolver) throws(ResolutionFailure) -> ManagedAccessor {
    let path = declaration.context.path.joined(separator: ".")
    guard let owner = resolver.index.owner(of: declaration.context, file: resolver.file, module: resolver.module) else {
      throw ResolutionFailure(.unknownClass(path))
    }
    guard owner.nominal.components.last?.kind == .classType else { throw ResolutionFailure(.noClass(path)) }
    if case .indexed(let type) = owner {
      guard case .nominal = type.kind else { throw ResolutionFailure(.unknownClass(path)) }
      if type.isGeneric { throw ResolutionFailure(.genericClass(path)) }
      if type.isOfFile { throw ResolutionFailure(.privateClass(path)) }
    }
    var member = MangledMember(of: owner.nominal, name: declaration.name)
    if owner.module != resolver.module { member.extensionModule = resolver.module }
    if declaration.access.isOfFile {
      guard let discriminator = ScannedModule.discriminator(ofFile: resolver.file, in: resolver.module) else {
        throw ResolutionFailure(.noDigest)
      }
      member.discriminator = discriminator
    }
    return ManagedAccessor(
      owner: owner.nominal, name: declaration.name, kind: try kind(of: declaration, member, resolver), access: declaration.access,
      setterAccess: min(declaration.access, declaration.setterAccess ?? .open), conditions: declaration.conditions, file: resolver.file,
      line: declaration.line)
  }

  private static func kind(
    of declaration: ManagedDeclaration, _ member: MangledMember, _ resolver: TypeResolver
  ) throws(ResolutionFailure) -> ManagedAccessor.Kind {
    switch declaration.kind {
    case .property(let syntax):
      guard let syntax else { throw ResolutionFailure(.missingType) }
      let type = try resolver.type(of: syntax, in: member.owner)
      return .property(type, getter: SymbolMangler.getter(of: member, type: type), setter: SymbolMangler.setter(of: member, type: type))
    case .method(let parameters, let syntax):
      var types: [MangledType] = []
      for parameter in parameters { types.append(try resolver.type(of: parameter.type, in: member.owner)) }
      let (labels, result) = (parameters.map(\.label), try resolver.type(of: syntax, in: member.owner))
      return .method(
        labels: labels, parameters: types, result: result,
        symbol: SymbolMangler.method(member, labels: labels, parameters: types, result: result))
    }
  }
}

/// The effect of an `@NSManaged` method on a to-many relationship. As in Core Data, the method's name determines it.
package enum ManagedMethod: Equatable, Sendable {
  /// `addToBooks(_:)`, with an object or a collection.
  case add(String)
  /// `removeFromBooks(_:)`, with an object or a collection.
  case remove(String)
  /// `insertIntoBooks(_:at:)`, with an object and its index, or with objects and their indexes.
  case insert(String)
  /// `removeFromBooks(at:)`, with an index or indexes.
  case removeAt(String)
  /// `replaceBooks(at:with:)`, with an index and an object, or with indexes and objects.
  case replace(String)

  /// Parses a method's name; `nil` if the name is not that of an accessor.
  package init?(name: String, labels: [String?]) {
    func key(_ prefix: String) -> String? {
      guard name.hasPrefix(prefix), name.utf8.count > prefix.utf8.count else { return nil }
      return String(name.dropFirst(prefix.count))
    }
    switch labels {
    case [nil]:
      if let key = key("addTo") { self = .add(key) } else if let key = key("removeFrom") { self = .remove(key) } else { return nil }
    case [nil, "at"]:
      guard let key = key("insertInto") else { return nil }
      self = .insert(key)
    case ["at"]:
      guard let key = key("removeFrom") else { return nil }
      self = .removeAt(key)
    case ["at", "with"]:
      guard let key = key("replace") else { return nil }
      self = .replace(key)
    default: return nil
    }
  }
}
