/// A cached statement on a join table. ``StatementNumbers`` maps the case and the number of the side to a statement number.
enum JoinStatement: Hashable, Sendable {
  /// Selects the far objects of near ones.
  case members(side: Int, KeyListSize)
  /// Deletes all links of near objects.
  case deletion(side: Int, KeyListSize)
  /// Inserts links, unless they exist.
  case insertion(side: Int, LinkInsertionSize)
  /// Inserts a link with its positions in orders.
  case positionedInsertion(side: Int)
  /// Deletes one link.
  case removal(side: Int)
  /// Inserts the missing opposite directions of links.
  case completion(side: Int)
  /// Selects the positions of the far objects of one near object.
  case positions(side: Int)
  /// Updates the position of one far object of a near object.
  case positioning(side: Int)
  /// Selects a row if a link exists.
  case presence(side: Int)
  /// Selects links in the order of the near and the far objects, after one.
  case links(side: Int)

  /// The first offset of each case, after those of the preceding case.
  private enum First {
    static var members: Int { 0 }
    static var deletion: Int { members + KeyListSize.count }
    static var insertion: Int { deletion + KeyListSize.count }
    static var positionedInsertion: Int { insertion + LinkInsertionSize.count }
    static var removal: Int { positionedInsertion + 1 }
    static var completion: Int { removal + 1 }
    static var positions: Int { completion + 1 }
    static var positioning: Int { positions + 1 }
    static var presence: Int { positioning + 1 }
    static var links: Int { presence + 1 }
    static var end: Int { links + 1 }
  }

  @inline(__always) static var countOfSide: Int { First.end }

  /// The side, and the statement's offset among those of the side.
  @inline(__always) var place: (side: Int, offset: Int) {
    switch self {
    case .members(let side, let size): (side, First.members + size.position)
    case .deletion(let side, let size): (side, First.deletion + size.position)
    case .insertion(let side, let size): (side, First.insertion + size.rawValue)
    case .positionedInsertion(let side): (side, First.positionedInsertion)
    case .removal(let side): (side, First.removal)
    case .completion(let side): (side, First.completion)
    case .positions(let side): (side, First.positions)
    case .positioning(let side): (side, First.positioning)
    case .presence(let side): (side, First.presence)
    case .links(let side): (side, First.links)
    }
  }

  /// Returns all statements of a schema, including those that its tables cannot use.
  static func all(of schema: StoreSchema) -> [JoinStatement] {
    (0..<(schema.layout.joinTables.count * JoinSide.countOfTable)).flatMap { side -> [JoinStatement] in
      KeyListSize.allCases.map { .members(side: side, $0) } + KeyListSize.allCases.map { .deletion(side: side, $0) }
        + LinkInsertionSize.allCases.map { .insertion(side: side, $0) }
        + [
          .positionedInsertion(side: side), .removal(side: side), .completion(side: side), .positions(side: side), .positioning(side: side),
          .presence(side: side), .links(side: side),
        ]
    }
  }
}

/// The number of links that one statement inserts.
enum LinkInsertionSize: Int, CaseIterable, Sendable {
  case most, many, few, one

  /// The number of cases: the statement numbers of a statement that is cached in every size.
  @inline(__always) static var count: Int { LinkInsertionSize.one.rawValue + 1 }

  /// Creates the greatest size that does not exceed a number of links.
  init(for count: Int) {
    self = Self.most.linkCount <= count ? .most : Self.many.linkCount <= count ? .many : Self.few.linkCount <= count ? .few : .one
  }

  var linkCount: Int {
    switch self {
    case .most: 100
    case .many: 20
    case .few: 4
    case .one: 1
    }
  }
}
