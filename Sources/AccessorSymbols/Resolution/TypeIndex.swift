/// The types in the sources of a module and its dependencies, by name.
struct TypeIndex: Sendable {
  private var types: [String: [String: [IndexedType]]] = [:]
  let modules: Set<String>

  init(_ modules: [ScannedModule]) {
    self.modules = Set(modules.map(\.name))
    let conditions = BuildConditions(modules: self.modules)
    var extended: [(ScannedModule, ScannedSource, DeclaredType)] = []
    for module in modules {
      for source in module.sources {
        for type in source.types where conditions.mayHold(type.conditions) {
          // Types nested in an extension are added after the extended type.
          if type.context.isExtension || !add(type, of: source, in: module, to: nil) { extended.append((module, source, type)) }
        }
      }
    }
    // An extended type can itself be declared in another extension.
    var waiting = extended
    while !waiting.isEmpty {
      let before = waiting.count
      waiting = waiting.filter { module, source, type in
        guard let owner = owner(of: type.context, file: source.file, module: module.name) else { return true }
        return !add(type, of: source, in: module, to: owner)
      }
      if waiting.count == before { break }
    }
  }

  /// Returns the type that contains a declaration.
  func owner(of context: DeclarationContext, file: String, module: String) -> IndexedOwner? {
    guard let first = context.path.first else { return nil }
    for home in [module] + modules.subtracting([module]).sorted() {
      if let type = named(context.path.joined(separator: "."), of: home, from: file, of: module).first { return .indexed(type) }
      if home == first, context.path.count > 1,
        let type = named(context.path.dropFirst().joined(separator: "."), of: home, from: file, of: module).first
      {
        return .indexed(type)
      }
    }
    let known = context.path.count == 2 && first.hasPrefix("Foundation") ? context.path[1] : context.path.count == 1 ? first : nil
    if let known, case .nominal(let nominal, parameters: 0) = KnownTypes.meaning(of: known) { return .known(nominal) }
    return nil
  }

  /// Returns the types with a path in a module that a file can refer to.
  func named(_ path: String, of home: String, from file: String, of module: String) -> [IndexedType] {
    (types[home]?[path] ?? []).filter { $0.isVisible(from: file, of: module) }
  }

  /// Returns the types that a module declares, sorted by path.
  func declared(in module: String) -> [IndexedType] {
    (types[module] ?? [:]).sorted { $0.key < $1.key }.flatMap(\.value).filter { $0.module == module }
  }

  private mutating func add(_ type: DeclaredType, of source: ScannedSource, in module: ScannedModule, to owner: IndexedOwner?) -> Bool {
    var owner = owner
    if owner == nil, !type.context.path.isEmpty {
      owner = self.owner(of: type.context, file: source.file, module: module.name)
      guard owner != nil else { return false }
    }
    let kind: NominalKind = if case .nominal(let kind) = type.kind { kind } else { .structure }
    let isInPrivate = owner?.isOfFile ?? false
    var component = MangledNominal.Component(type.name, kind)
    if type.access.isOfFile, !isInPrivate { component.discriminator = ScannedModule.discriminator(ofFile: source.file, in: module.name) }
    if let owner, owner.module != module.name { component.extensionModule = module.name }
    let nominal =
      owner.map { MangledNominal(module: $0.nominal.module, $0.nominal.components + [component]) }
      ?? MangledNominal(module: module.name, [component])
    types[nominal.module, default: [:]][nominal.path, default: []].append(
      IndexedType(
        nominal: nominal, kind: type.kind, inherited: type.inherited, access: type.access,
        isOfFile: type.access.isOfFile || isInPrivate, isGeneric: type.isGeneric || type.context.isGeneric, module: module.name,
        file: source.file, line: type.line, conditions: type.conditions))
    return true
  }
}

/// The type that contains a declaration: a scanned one or a known one.
enum IndexedOwner {
  case indexed(IndexedType)
  case known(MangledNominal)

  var nominal: MangledNominal {
    switch self {
    case .indexed(let type): type.nominal
    case .known(let nominal): nominal
    }
  }
  var module: String { nominal.module }
  var isOfFile: Bool { if case .indexed(let type) = self { type.isOfFile } else { false } }
}
