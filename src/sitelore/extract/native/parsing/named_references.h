/* Written by scripts/named_references.py. By name, with its semicolon where it has one: what each means. */
static const char named_references[] =
    "AElig Æ\0AElig; Æ\0AMP &\0AMP; &\0Aacute Á\0Aacute; Á\0Abreve; Ă\0Acirc Â\0Acirc; Â\0Acy; А\0Afr; 𝔄\0Agrave À\0Agrave; À\0Alpha; Α\0"
    "Amacr; Ā\0And; ⩓\0Aogon; Ą\0Aopf; 𝔸\0ApplyFunction; \342\201\241\0Aring Å\0Aring; Å\0Ascr; 𝒜\0Assign; ≔\0Atilde Ã\0Atilde; Ã\0Auml Ä\0"
    "Auml; Ä\0Backslash; ∖\0Barv; ⫧\0Barwed; ⌆\0Bcy; Б\0Because; ∵\0Bernoullis; ℬ\0Beta; Β\0Bfr; 𝔅\0Bopf; 𝔹\0Breve; ˘\0Bscr; ℬ\0Bumpeq; ≎\0"
    "CHcy; Ч\0COPY ©\0COPY; ©\0Cacute; Ć\0Cap; ⋒\0CapitalDifferentialD; ⅅ\0Cayleys; ℭ\0Ccaron; Č\0Ccedil Ç\0Ccedil; Ç\0Ccirc; Ĉ\0"
    "Cconint; ∰\0Cdot; Ċ\0Cedilla; ¸\0CenterDot; ·\0Cfr; ℭ\0Chi; Χ\0CircleDot; ⊙\0CircleMinus; ⊖\0CirclePlus; ⊕\0CircleTimes; ⊗\0"
    "ClockwiseContourIntegral; ∲\0CloseCurlyDoubleQuote; ”\0CloseCurlyQuote; ’\0Colon; ∷\0Colone; ⩴\0Congruent; ≡\0Conint; ∯\0"
    "ContourIntegral; ∮\0Copf; ℂ\0Coproduct; ∐\0CounterClockwiseContourIntegral; ∳\0Cross; ⨯\0Cscr; 𝒞\0Cup; ⋓\0CupCap; ≍\0DD; ⅅ\0"
    "DDotrahd; ⤑\0DJcy; Ђ\0DScy; Ѕ\0DZcy; Џ\0Dagger; ‡\0Darr; ↡\0Dashv; ⫤\0Dcaron; Ď\0Dcy; Д\0Del; ∇\0Delta; Δ\0Dfr; 𝔇\0"
    "DiacriticalAcute; ´\0DiacriticalDot; ˙\0DiacriticalDoubleAcute; ˝\0DiacriticalGrave; `\0DiacriticalTilde; ˜\0Diamond; ⋄\0"
    "DifferentialD; ⅆ\0Dopf; 𝔻\0Dot; ¨\0DotDot; \342\203\234\0DotEqual; ≐\0DoubleContourIntegral; ∯\0DoubleDot; ¨\0DoubleDownArrow; ⇓\0"
    "DoubleLeftArrow; ⇐\0DoubleLeftRightArrow; ⇔\0DoubleLeftTee; ⫤\0DoubleLongLeftArrow; ⟸\0DoubleLongLeftRightArrow; ⟺\0"
    "DoubleLongRightArrow; ⟹\0DoubleRightArrow; ⇒\0DoubleRightTee; ⊨\0DoubleUpArrow; ⇑\0DoubleUpDownArrow; ⇕\0DoubleVerticalBar; ∥\0"
    "DownArrow; ↓\0DownArrowBar; ⤓\0DownArrowUpArrow; ⇵\0DownBreve; \314\221\0DownLeftRightVector; ⥐\0DownLeftTeeVector; ⥞\0"
    "DownLeftVector; ↽\0DownLeftVectorBar; ⥖\0DownRightTeeVector; ⥟\0DownRightVector; ⇁\0DownRightVectorBar; ⥗\0DownTee; ⊤\0"
    "DownTeeArrow; ↧\0Downarrow; ⇓\0Dscr; 𝒟\0Dstrok; Đ\0ENG; Ŋ\0ETH Ð\0ETH; Ð\0Eacute É\0Eacute; É\0Ecaron; Ě\0Ecirc Ê\0Ecirc; Ê\0Ecy; Э\0"
    "Edot; Ė\0Efr; 𝔈\0Egrave È\0Egrave; È\0Element; ∈\0Emacr; Ē\0EmptySmallSquare; ◻\0EmptyVerySmallSquare; ▫\0Eogon; Ę\0Eopf; 𝔼\0"
    "Epsilon; Ε\0Equal; ⩵\0EqualTilde; ≂\0Equilibrium; ⇌\0Escr; ℰ\0Esim; ⩳\0Eta; Η\0Euml Ë\0Euml; Ë\0Exists; ∃\0ExponentialE; ⅇ\0Fcy; Ф\0"
    "Ffr; 𝔉\0FilledSmallSquare; ◼\0FilledVerySmallSquare; ▪\0Fopf; 𝔽\0ForAll; ∀\0Fouriertrf; ℱ\0Fscr; ℱ\0GJcy; Ѓ\0GT >\0GT; >\0Gamma; Γ\0"
    "Gammad; Ϝ\0Gbreve; Ğ\0Gcedil; Ģ\0Gcirc; Ĝ\0Gcy; Г\0Gdot; Ġ\0Gfr; 𝔊\0Gg; ⋙\0Gopf; 𝔾\0GreaterEqual; ≥\0GreaterEqualLess; ⋛\0"
    "GreaterFullEqual; ≧\0GreaterGreater; ⪢\0GreaterLess; ≷\0GreaterSlantEqual; ⩾\0GreaterTilde; ≳\0Gscr; 𝒢\0Gt; ≫\0HARDcy; Ъ\0Hacek; ˇ\0"
    "Hat; ^\0Hcirc; Ĥ\0Hfr; ℌ\0HilbertSpace; ℋ\0Hopf; ℍ\0HorizontalLine; ─\0Hscr; ℋ\0Hstrok; Ħ\0HumpDownHump; ≎\0HumpEqual; ≏\0IEcy; Е\0"
    "IJlig; Ĳ\0IOcy; Ё\0Iacute Í\0Iacute; Í\0Icirc Î\0Icirc; Î\0Icy; И\0Idot; İ\0Ifr; ℑ\0Igrave Ì\0Igrave; Ì\0Im; ℑ\0Imacr; Ī\0"
    "ImaginaryI; ⅈ\0Implies; ⇒\0Int; ∬\0Integral; ∫\0Intersection; ⋂\0InvisibleComma; \342\201\243\0InvisibleTimes; \342\201\242\0"
    "Iogon; Į\0Iopf; 𝕀\0Iota; Ι\0Iscr; ℐ\0Itilde; Ĩ\0Iukcy; І\0Iuml Ï\0Iuml; Ï\0Jcirc; Ĵ\0Jcy; Й\0Jfr; 𝔍\0Jopf; 𝕁\0Jscr; 𝒥\0Jsercy; Ј\0"
    "Jukcy; Є\0KHcy; Х\0KJcy; Ќ\0Kappa; Κ\0Kcedil; Ķ\0Kcy; К\0Kfr; 𝔎\0Kopf; 𝕂\0Kscr; 𝒦\0LJcy; Љ\0LT <\0LT; <\0Lacute; Ĺ\0Lambda; Λ\0"
    "Lang; ⟪\0Laplacetrf; ℒ\0Larr; ↞\0Lcaron; Ľ\0Lcedil; Ļ\0Lcy; Л\0LeftAngleBracket; ⟨\0LeftArrow; ←\0LeftArrowBar; ⇤\0"
    "LeftArrowRightArrow; ⇆\0LeftCeiling; ⌈\0LeftDoubleBracket; ⟦\0LeftDownTeeVector; ⥡\0LeftDownVector; ⇃\0LeftDownVectorBar; ⥙\0"
    "LeftFloor; ⌊\0LeftRightArrow; ↔\0LeftRightVector; ⥎\0LeftTee; ⊣\0LeftTeeArrow; ↤\0LeftTeeVector; ⥚\0LeftTriangle; ⊲\0"
    "LeftTriangleBar; ⧏\0LeftTriangleEqual; ⊴\0LeftUpDownVector; ⥑\0LeftUpTeeVector; ⥠\0LeftUpVector; ↿\0LeftUpVectorBar; ⥘\0"
    "LeftVector; ↼\0LeftVectorBar; ⥒\0Leftarrow; ⇐\0Leftrightarrow; ⇔\0LessEqualGreater; ⋚\0LessFullEqual; ≦\0LessGreater; ≶\0LessLess; ⪡\0"
    "LessSlantEqual; ⩽\0LessTilde; ≲\0Lfr; 𝔏\0Ll; ⋘\0Lleftarrow; ⇚\0Lmidot; Ŀ\0LongLeftArrow; ⟵\0LongLeftRightArrow; ⟷\0LongRightArrow; ⟶\0"
    "Longleftarrow; ⟸\0Longleftrightarrow; ⟺\0Longrightarrow; ⟹\0Lopf; 𝕃\0LowerLeftArrow; ↙\0LowerRightArrow; ↘\0Lscr; ℒ\0Lsh; ↰\0"
    "Lstrok; Ł\0Lt; ≪\0Map; ⤅\0Mcy; М\0MediumSpace; \342\201\237\0Mellintrf; ℳ\0Mfr; 𝔐\0MinusPlus; ∓\0Mopf; 𝕄\0Mscr; ℳ\0Mu; Μ\0NJcy; Њ\0"
    "Nacute; Ń\0Ncaron; Ň\0Ncedil; Ņ\0Ncy; Н\0NegativeMediumSpace; \342\200\213\0NegativeThickSpace; \342\200\213\0"
    "NegativeThinSpace; \342\200\213\0NegativeVeryThinSpace; \342\200\213\0NestedGreaterGreater; ≫\0NestedLessLess; ≪\0NewLine; \012\0"
    "Nfr; 𝔑\0NoBreak; \342\201\240\0NonBreakingSpace; \302\240\0Nopf; ℕ\0Not; ⫬\0NotCongruent; ≢\0NotCupCap; ≭\0NotDoubleVerticalBar; ∦\0"
    "NotElement; ∉\0NotEqual; ≠\0NotEqualTilde; ≂\314\270\0NotExists; ∄\0NotGreater; ≯\0NotGreaterEqual; ≱\0"
    "NotGreaterFullEqual; ≧\314\270\0NotGreaterGreater; ≫\314\270\0NotGreaterLess; ≹\0NotGreaterSlantEqual; ⩾\314\270\0NotGreaterTilde; ≵\0"
    "NotHumpDownHump; ≎\314\270\0NotHumpEqual; ≏\314\270\0NotLeftTriangle; ⋪\0NotLeftTriangleBar; ⧏\314\270\0NotLeftTriangleEqual; ⋬\0"
    "NotLess; ≮\0NotLessEqual; ≰\0NotLessGreater; ≸\0NotLessLess; ≪\314\270\0NotLessSlantEqual; ⩽\314\270\0NotLessTilde; ≴\0"
    "NotNestedGreaterGreater; ⪢\314\270\0NotNestedLessLess; ⪡\314\270\0NotPrecedes; ⊀\0NotPrecedesEqual; ⪯\314\270\0"
    "NotPrecedesSlantEqual; ⋠\0NotReverseElement; ∌\0NotRightTriangle; ⋫\0NotRightTriangleBar; ⧐\314\270\0NotRightTriangleEqual; ⋭\0"
    "NotSquareSubset; ⊏\314\270\0NotSquareSubsetEqual; ⋢\0NotSquareSuperset; ⊐\314\270\0NotSquareSupersetEqual; ⋣\0"
    "NotSubset; ⊂\342\203\222\0NotSubsetEqual; ⊈\0NotSucceeds; ⊁\0NotSucceedsEqual; ⪰\314\270\0NotSucceedsSlantEqual; ⋡\0"
    "NotSucceedsTilde; ≿\314\270\0NotSuperset; ⊃\342\203\222\0NotSupersetEqual; ⊉\0NotTilde; ≁\0NotTildeEqual; ≄\0NotTildeFullEqual; ≇\0"
    "NotTildeTilde; ≉\0NotVerticalBar; ∤\0Nscr; 𝒩\0Ntilde Ñ\0Ntilde; Ñ\0Nu; Ν\0OElig; Œ\0Oacute Ó\0Oacute; Ó\0Ocirc Ô\0Ocirc; Ô\0Ocy; О\0"
    "Odblac; Ő\0Ofr; 𝔒\0Ograve Ò\0Ograve; Ò\0Omacr; Ō\0Omega; Ω\0Omicron; Ο\0Oopf; 𝕆\0OpenCurlyDoubleQuote; “\0OpenCurlyQuote; ‘\0Or; ⩔\0"
    "Oscr; 𝒪\0Oslash Ø\0Oslash; Ø\0Otilde Õ\0Otilde; Õ\0Otimes; ⨷\0Ouml Ö\0Ouml; Ö\0OverBar; ‾\0OverBrace; ⏞\0OverBracket; ⎴\0"
    "OverParenthesis; ⏜\0PartialD; ∂\0Pcy; П\0Pfr; 𝔓\0Phi; Φ\0Pi; Π\0PlusMinus; ±\0Poincareplane; ℌ\0Popf; ℙ\0Pr; ⪻\0Precedes; ≺\0"
    "PrecedesEqual; ⪯\0PrecedesSlantEqual; ≼\0PrecedesTilde; ≾\0Prime; ″\0Product; ∏\0Proportion; ∷\0Proportional; ∝\0Pscr; 𝒫\0Psi; Ψ\0"
    "QUOT \042\0QUOT; \042\0Qfr; 𝔔\0Qopf; ℚ\0Qscr; 𝒬\0RBarr; ⤐\0REG ®\0REG; ®\0Racute; Ŕ\0Rang; ⟫\0Rarr; ↠\0Rarrtl; ⤖\0Rcaron; Ř\0"
    "Rcedil; Ŗ\0Rcy; Р\0Re; ℜ\0ReverseElement; ∋\0ReverseEquilibrium; ⇋\0ReverseUpEquilibrium; ⥯\0Rfr; ℜ\0Rho; Ρ\0RightAngleBracket; ⟩\0"
    "RightArrow; →\0RightArrowBar; ⇥\0RightArrowLeftArrow; ⇄\0RightCeiling; ⌉\0RightDoubleBracket; ⟧\0RightDownTeeVector; ⥝\0"
    "RightDownVector; ⇂\0RightDownVectorBar; ⥕\0RightFloor; ⌋\0RightTee; ⊢\0RightTeeArrow; ↦\0RightTeeVector; ⥛\0RightTriangle; ⊳\0"
    "RightTriangleBar; ⧐\0RightTriangleEqual; ⊵\0RightUpDownVector; ⥏\0RightUpTeeVector; ⥜\0RightUpVector; ↾\0RightUpVectorBar; ⥔\0"
    "RightVector; ⇀\0RightVectorBar; ⥓\0Rightarrow; ⇒\0Ropf; ℝ\0RoundImplies; ⥰\0Rrightarrow; ⇛\0Rscr; ℛ\0Rsh; ↱\0RuleDelayed; ⧴\0"
    "SHCHcy; Щ\0SHcy; Ш\0SOFTcy; Ь\0Sacute; Ś\0Sc; ⪼\0Scaron; Š\0Scedil; Ş\0Scirc; Ŝ\0Scy; С\0Sfr; 𝔖\0ShortDownArrow; ↓\0"
    "ShortLeftArrow; ←\0ShortRightArrow; →\0ShortUpArrow; ↑\0Sigma; Σ\0SmallCircle; ∘\0Sopf; 𝕊\0Sqrt; √\0Square; □\0SquareIntersection; ⊓\0"
    "SquareSubset; ⊏\0SquareSubsetEqual; ⊑\0SquareSuperset; ⊐\0SquareSupersetEqual; ⊒\0SquareUnion; ⊔\0Sscr; 𝒮\0Star; ⋆\0Sub; ⋐\0"
    "Subset; ⋐\0SubsetEqual; ⊆\0Succeeds; ≻\0SucceedsEqual; ⪰\0SucceedsSlantEqual; ≽\0SucceedsTilde; ≿\0SuchThat; ∋\0Sum; ∑\0Sup; ⋑\0"
    "Superset; ⊃\0SupersetEqual; ⊇\0Supset; ⋑\0THORN Þ\0THORN; Þ\0TRADE; ™\0TSHcy; Ћ\0TScy; Ц\0Tab; \011\0Tau; Τ\0Tcaron; Ť\0Tcedil; Ţ\0"
    "Tcy; Т\0Tfr; 𝔗\0Therefore; ∴\0Theta; Θ\0ThickSpace; \342\201\237\342\200\212\0ThinSpace; \342\200\211\0Tilde; ∼\0TildeEqual; ≃\0"
    "TildeFullEqual; ≅\0TildeTilde; ≈\0Topf; 𝕋\0TripleDot; \342\203\233\0Tscr; 𝒯\0Tstrok; Ŧ\0Uacute Ú\0Uacute; Ú\0Uarr; ↟\0Uarrocir; ⥉\0"
    "Ubrcy; Ў\0Ubreve; Ŭ\0Ucirc Û\0Ucirc; Û\0Ucy; У\0Udblac; Ű\0Ufr; 𝔘\0Ugrave Ù\0Ugrave; Ù\0Umacr; Ū\0UnderBar; _\0UnderBrace; ⏟\0"
    "UnderBracket; ⎵\0UnderParenthesis; ⏝\0Union; ⋃\0UnionPlus; ⊎\0Uogon; Ų\0Uopf; 𝕌\0UpArrow; ↑\0UpArrowBar; ⤒\0UpArrowDownArrow; ⇅\0"
    "UpDownArrow; ↕\0UpEquilibrium; ⥮\0UpTee; ⊥\0UpTeeArrow; ↥\0Uparrow; ⇑\0Updownarrow; ⇕\0UpperLeftArrow; ↖\0UpperRightArrow; ↗\0"
    "Upsi; ϒ\0Upsilon; Υ\0Uring; Ů\0Uscr; 𝒰\0Utilde; Ũ\0Uuml Ü\0Uuml; Ü\0VDash; ⊫\0Vbar; ⫫\0Vcy; В\0Vdash; ⊩\0Vdashl; ⫦\0Vee; ⋁\0"
    "Verbar; ‖\0Vert; ‖\0VerticalBar; ∣\0VerticalLine; |\0VerticalSeparator; ❘\0VerticalTilde; ≀\0VeryThinSpace; \342\200\212\0Vfr; 𝔙\0"
    "Vopf; 𝕍\0Vscr; 𝒱\0Vvdash; ⊪\0Wcirc; Ŵ\0Wedge; ⋀\0Wfr; 𝔚\0Wopf; 𝕎\0Wscr; 𝒲\0Xfr; 𝔛\0Xi; Ξ\0Xopf; 𝕏\0Xscr; 𝒳\0YAcy; Я\0YIcy; Ї\0"
    "YUcy; Ю\0Yacute Ý\0Yacute; Ý\0Ycirc; Ŷ\0Ycy; Ы\0Yfr; 𝔜\0Yopf; 𝕐\0Yscr; 𝒴\0Yuml; Ÿ\0ZHcy; Ж\0Zacute; Ź\0Zcaron; Ž\0Zcy; З\0Zdot; Ż\0"
    "ZeroWidthSpace; \342\200\213\0Zeta; Ζ\0Zfr; ℨ\0Zopf; ℤ\0Zscr; 𝒵\0aacute á\0aacute; á\0abreve; ă\0ac; ∾\0acE; ∾\314\263\0acd; ∿\0"
    "acirc â\0acirc; â\0acute ´\0acute; ´\0acy; а\0aelig æ\0aelig; æ\0af; \342\201\241\0afr; 𝔞\0agrave à\0agrave; à\0alefsym; ℵ\0aleph; ℵ\0"
    "alpha; α\0amacr; ā\0amalg; ⨿\0amp &\0amp; &\0and; ∧\0andand; ⩕\0andd; ⩜\0andslope; ⩘\0andv; ⩚\0ang; ∠\0ange; ⦤\0angle; ∠\0angmsd; ∡\0"
    "angmsdaa; ⦨\0angmsdab; ⦩\0angmsdac; ⦪\0angmsdad; ⦫\0angmsdae; ⦬\0angmsdaf; ⦭\0angmsdag; ⦮\0angmsdah; ⦯\0angrt; ∟\0angrtvb; ⊾\0"
    "angrtvbd; ⦝\0angsph; ∢\0angst; Å\0angzarr; ⍼\0aogon; ą\0aopf; 𝕒\0ap; ≈\0apE; ⩰\0apacir; ⩯\0ape; ≊\0apid; ≋\0apos; '\0approx; ≈\0"
    "approxeq; ≊\0aring å\0aring; å\0ascr; 𝒶\0ast; *\0asymp; ≈\0asympeq; ≍\0atilde ã\0atilde; ã\0auml ä\0auml; ä\0awconint; ∳\0awint; ⨑\0"
    "bNot; ⫭\0backcong; ≌\0backepsilon; ϶\0backprime; ‵\0backsim; ∽\0backsimeq; ⋍\0barvee; ⊽\0barwed; ⌅\0barwedge; ⌅\0bbrk; ⎵\0"
    "bbrktbrk; ⎶\0bcong; ≌\0bcy; б\0bdquo; „\0becaus; ∵\0because; ∵\0bemptyv; ⦰\0bepsi; ϶\0bernou; ℬ\0beta; β\0beth; ℶ\0between; ≬\0"
    "bfr; 𝔟\0bigcap; ⋂\0bigcirc; ◯\0bigcup; ⋃\0bigodot; ⨀\0bigoplus; ⨁\0bigotimes; ⨂\0bigsqcup; ⨆\0bigstar; ★\0bigtriangledown; ▽\0"
    "bigtriangleup; △\0biguplus; ⨄\0bigvee; ⋁\0bigwedge; ⋀\0bkarow; ⤍\0blacklozenge; ⧫\0blacksquare; ▪\0blacktriangle; ▴\0"
    "blacktriangledown; ▾\0blacktriangleleft; ◂\0blacktriangleright; ▸\0blank; ␣\0blk12; ▒\0blk14; ░\0blk34; ▓\0block; █\0"
    "bne; =\342\203\245\0bnequiv; ≡\342\203\245\0bnot; ⌐\0bopf; 𝕓\0bot; ⊥\0bottom; ⊥\0bowtie; ⋈\0boxDL; ╗\0boxDR; ╔\0boxDl; ╖\0boxDr; ╓\0"
    "boxH; ═\0boxHD; ╦\0boxHU; ╩\0boxHd; ╤\0boxHu; ╧\0boxUL; ╝\0boxUR; ╚\0boxUl; ╜\0boxUr; ╙\0boxV; ║\0boxVH; ╬\0boxVL; ╣\0boxVR; ╠\0"
    "boxVh; ╫\0boxVl; ╢\0boxVr; ╟\0boxbox; ⧉\0boxdL; ╕\0boxdR; ╒\0boxdl; ┐\0boxdr; ┌\0boxh; ─\0boxhD; ╥\0boxhU; ╨\0boxhd; ┬\0boxhu; ┴\0"
    "boxminus; ⊟\0boxplus; ⊞\0boxtimes; ⊠\0boxuL; ╛\0boxuR; ╘\0boxul; ┘\0boxur; └\0boxv; │\0boxvH; ╪\0boxvL; ╡\0boxvR; ╞\0boxvh; ┼\0"
    "boxvl; ┤\0boxvr; ├\0bprime; ‵\0breve; ˘\0brvbar ¦\0brvbar; ¦\0bscr; 𝒷\0bsemi; ⁏\0bsim; ∽\0bsime; ⋍\0bsol; \134\0bsolb; ⧅\0"
    "bsolhsub; ⟈\0bull; •\0bullet; •\0bump; ≎\0bumpE; ⪮\0bumpe; ≏\0bumpeq; ≏\0cacute; ć\0cap; ∩\0capand; ⩄\0capbrcup; ⩉\0capcap; ⩋\0"
    "capcup; ⩇\0capdot; ⩀\0caps; ∩\357\270\200\0caret; ⁁\0caron; ˇ\0ccaps; ⩍\0ccaron; č\0ccedil ç\0ccedil; ç\0ccirc; ĉ\0ccups; ⩌\0"
    "ccupssm; ⩐\0cdot; ċ\0cedil ¸\0cedil; ¸\0cemptyv; ⦲\0cent ¢\0cent; ¢\0centerdot; ·\0cfr; 𝔠\0chcy; ч\0check; ✓\0checkmark; ✓\0chi; χ\0"
    "cir; ○\0cirE; ⧃\0circ; ˆ\0circeq; ≗\0circlearrowleft; ↺\0circlearrowright; ↻\0circledR; ®\0circledS; Ⓢ\0circledast; ⊛\0"
    "circledcirc; ⊚\0circleddash; ⊝\0cire; ≗\0cirfnint; ⨐\0cirmid; ⫯\0cirscir; ⧂\0clubs; ♣\0clubsuit; ♣\0colon; :\0colone; ≔\0coloneq; ≔\0"
    "comma; ,\0commat; @\0comp; ∁\0compfn; ∘\0complement; ∁\0complexes; ℂ\0cong; ≅\0congdot; ⩭\0conint; ∮\0copf; 𝕔\0coprod; ∐\0copy ©\0"
    "copy; ©\0copysr; ℗\0crarr; ↵\0cross; ✗\0cscr; 𝒸\0csub; ⫏\0csube; ⫑\0csup; ⫐\0csupe; ⫒\0ctdot; ⋯\0cudarrl; ⤸\0cudarrr; ⤵\0cuepr; ⋞\0"
    "cuesc; ⋟\0cularr; ↶\0cularrp; ⤽\0cup; ∪\0cupbrcap; ⩈\0cupcap; ⩆\0cupcup; ⩊\0cupdot; ⊍\0cupor; ⩅\0cups; ∪\357\270\200\0curarr; ↷\0"
    "curarrm; ⤼\0curlyeqprec; ⋞\0curlyeqsucc; ⋟\0curlyvee; ⋎\0curlywedge; ⋏\0curren ¤\0curren; ¤\0curvearrowleft; ↶\0curvearrowright; ↷\0"
    "cuvee; ⋎\0cuwed; ⋏\0cwconint; ∲\0cwint; ∱\0cylcty; ⌭\0dArr; ⇓\0dHar; ⥥\0dagger; †\0daleth; ℸ\0darr; ↓\0dash; ‐\0dashv; ⊣\0dbkarow; ⤏\0"
    "dblac; ˝\0dcaron; ď\0dcy; д\0dd; ⅆ\0ddagger; ‡\0ddarr; ⇊\0ddotseq; ⩷\0deg °\0deg; °\0delta; δ\0demptyv; ⦱\0dfisht; ⥿\0dfr; 𝔡\0"
    "dharl; ⇃\0dharr; ⇂\0diam; ⋄\0diamond; ⋄\0diamondsuit; ♦\0diams; ♦\0die; ¨\0digamma; ϝ\0disin; ⋲\0div; ÷\0divide ÷\0divide; ÷\0"
    "divideontimes; ⋇\0divonx; ⋇\0djcy; ђ\0dlcorn; ⌞\0dlcrop; ⌍\0dollar; $\0dopf; 𝕕\0dot; ˙\0doteq; ≐\0doteqdot; ≑\0dotminus; ∸\0"
    "dotplus; ∔\0dotsquare; ⊡\0doublebarwedge; ⌆\0downarrow; ↓\0downdownarrows; ⇊\0downharpoonleft; ⇃\0downharpoonright; ⇂\0drbkarow; ⤐\0"
    "drcorn; ⌟\0drcrop; ⌌\0dscr; 𝒹\0dscy; ѕ\0dsol; ⧶\0dstrok; đ\0dtdot; ⋱\0dtri; ▿\0dtrif; ▾\0duarr; ⇵\0duhar; ⥯\0dwangle; ⦦\0dzcy; џ\0"
    "dzigrarr; ⟿\0eDDot; ⩷\0eDot; ≑\0eacute é\0eacute; é\0easter; ⩮\0ecaron; ě\0ecir; ≖\0ecirc ê\0ecirc; ê\0ecolon; ≕\0ecy; э\0edot; ė\0"
    "ee; ⅇ\0efDot; ≒\0efr; 𝔢\0eg; ⪚\0egrave è\0egrave; è\0egs; ⪖\0egsdot; ⪘\0el; ⪙\0elinters; ⏧\0ell; ℓ\0els; ⪕\0elsdot; ⪗\0emacr; ē\0"
    "empty; ∅\0emptyset; ∅\0emptyv; ∅\0emsp13; \342\200\204\0emsp14; \342\200\205\0emsp; \342\200\203\0eng; ŋ\0ensp; \342\200\202\0"
    "eogon; ę\0eopf; 𝕖\0epar; ⋕\0eparsl; ⧣\0eplus; ⩱\0epsi; ε\0epsilon; ε\0epsiv; ϵ\0eqcirc; ≖\0eqcolon; ≕\0eqsim; ≂\0eqslantgtr; ⪖\0"
    "eqslantless; ⪕\0equals; =\0equest; ≟\0equiv; ≡\0equivDD; ⩸\0eqvparsl; ⧥\0erDot; ≓\0erarr; ⥱\0escr; ℯ\0esdot; ≐\0esim; ≂\0eta; η\0"
    "eth ð\0eth; ð\0euml ë\0euml; ë\0euro; €\0excl; !\0exist; ∃\0expectation; ℰ\0exponentiale; ⅇ\0fallingdotseq; ≒\0fcy; ф\0female; ♀\0"
    "ffilig; ﬃ\0fflig; ﬀ\0ffllig; ﬄ\0ffr; 𝔣\0filig; ﬁ\0fjlig; fj\0flat; ♭\0fllig; ﬂ\0fltns; ▱\0fnof; ƒ\0fopf; 𝕗\0forall; ∀\0fork; ⋔\0"
    "forkv; ⫙\0fpartint; ⨍\0frac12 ½\0frac12; ½\0frac13; ⅓\0frac14 ¼\0frac14; ¼\0frac15; ⅕\0frac16; ⅙\0frac18; ⅛\0frac23; ⅔\0frac25; ⅖\0"
    "frac34 ¾\0frac34; ¾\0frac35; ⅗\0frac38; ⅜\0frac45; ⅘\0frac56; ⅚\0frac58; ⅝\0frac78; ⅞\0frasl; ⁄\0frown; ⌢\0fscr; 𝒻\0gE; ≧\0gEl; ⪌\0"
    "gacute; ǵ\0gamma; γ\0gammad; ϝ\0gap; ⪆\0gbreve; ğ\0gcirc; ĝ\0gcy; г\0gdot; ġ\0ge; ≥\0gel; ⋛\0geq; ≥\0geqq; ≧\0geqslant; ⩾\0ges; ⩾\0"
    "gescc; ⪩\0gesdot; ⪀\0gesdoto; ⪂\0gesdotol; ⪄\0gesl; ⋛\357\270\200\0gesles; ⪔\0gfr; 𝔤\0gg; ≫\0ggg; ⋙\0gimel; ℷ\0gjcy; ѓ\0gl; ≷\0"
    "glE; ⪒\0gla; ⪥\0glj; ⪤\0gnE; ≩\0gnap; ⪊\0gnapprox; ⪊\0gne; ⪈\0gneq; ⪈\0gneqq; ≩\0gnsim; ⋧\0gopf; 𝕘\0grave; `\0gscr; ℊ\0gsim; ≳\0"
    "gsime; ⪎\0gsiml; ⪐\0gt >\0gt; >\0gtcc; ⪧\0gtcir; ⩺\0gtdot; ⋗\0gtlPar; ⦕\0gtquest; ⩼\0gtrapprox; ⪆\0gtrarr; ⥸\0gtrdot; ⋗\0"
    "gtreqless; ⋛\0gtreqqless; ⪌\0gtrless; ≷\0gtrsim; ≳\0gvertneqq; ≩\357\270\200\0gvnE; ≩\357\270\200\0hArr; ⇔\0hairsp; \342\200\212\0"
    "half; ½\0hamilt; ℋ\0hardcy; ъ\0harr; ↔\0harrcir; ⥈\0harrw; ↭\0hbar; ℏ\0hcirc; ĥ\0hearts; ♥\0heartsuit; ♥\0hellip; …\0hercon; ⊹\0"
    "hfr; 𝔥\0hksearow; ⤥\0hkswarow; ⤦\0hoarr; ⇿\0homtht; ∻\0hookleftarrow; ↩\0hookrightarrow; ↪\0hopf; 𝕙\0horbar; ―\0hscr; 𝒽\0hslash; ℏ\0"
    "hstrok; ħ\0hybull; ⁃\0hyphen; ‐\0iacute í\0iacute; í\0ic; \342\201\243\0icirc î\0icirc; î\0icy; и\0iecy; е\0iexcl ¡\0iexcl; ¡\0"
    "iff; ⇔\0ifr; 𝔦\0igrave ì\0igrave; ì\0ii; ⅈ\0iiiint; ⨌\0iiint; ∭\0iinfin; ⧜\0iiota; ℩\0ijlig; ĳ\0imacr; ī\0image; ℑ\0imagline; ℐ\0"
    "imagpart; ℑ\0imath; ı\0imof; ⊷\0imped; Ƶ\0in; ∈\0incare; ℅\0infin; ∞\0infintie; ⧝\0inodot; ı\0int; ∫\0intcal; ⊺\0integers; ℤ\0"
    "intercal; ⊺\0intlarhk; ⨗\0intprod; ⨼\0iocy; ё\0iogon; į\0iopf; 𝕚\0iota; ι\0iprod; ⨼\0iquest ¿\0iquest; ¿\0iscr; 𝒾\0isin; ∈\0isinE; ⋹\0"
    "isindot; ⋵\0isins; ⋴\0isinsv; ⋳\0isinv; ∈\0it; \342\201\242\0itilde; ĩ\0iukcy; і\0iuml ï\0iuml; ï\0jcirc; ĵ\0jcy; й\0jfr; 𝔧\0"
    "jmath; ȷ\0jopf; 𝕛\0jscr; 𝒿\0jsercy; ј\0jukcy; є\0kappa; κ\0kappav; ϰ\0kcedil; ķ\0kcy; к\0kfr; 𝔨\0kgreen; ĸ\0khcy; х\0kjcy; ќ\0"
    "kopf; 𝕜\0kscr; 𝓀\0lAarr; ⇚\0lArr; ⇐\0lAtail; ⤛\0lBarr; ⤎\0lE; ≦\0lEg; ⪋\0lHar; ⥢\0lacute; ĺ\0laemptyv; ⦴\0lagran; ℒ\0lambda; λ\0"
    "lang; ⟨\0langd; ⦑\0langle; ⟨\0lap; ⪅\0laquo «\0laquo; «\0larr; ←\0larrb; ⇤\0larrbfs; ⤟\0larrfs; ⤝\0larrhk; ↩\0larrlp; ↫\0larrpl; ⤹\0"
    "larrsim; ⥳\0larrtl; ↢\0lat; ⪫\0latail; ⤙\0late; ⪭\0lates; ⪭\357\270\200\0lbarr; ⤌\0lbbrk; ❲\0lbrace; {\0lbrack; [\0lbrke; ⦋\0"
    "lbrksld; ⦏\0lbrkslu; ⦍\0lcaron; ľ\0lcedil; ļ\0lceil; ⌈\0lcub; {\0lcy; л\0ldca; ⤶\0ldquo; “\0ldquor; „\0ldrdhar; ⥧\0ldrushar; ⥋\0"
    "ldsh; ↲\0le; ≤\0leftarrow; ←\0leftarrowtail; ↢\0leftharpoondown; ↽\0leftharpoonup; ↼\0leftleftarrows; ⇇\0leftrightarrow; ↔\0"
    "leftrightarrows; ⇆\0leftrightharpoons; ⇋\0leftrightsquigarrow; ↭\0leftthreetimes; ⋋\0leg; ⋚\0leq; ≤\0leqq; ≦\0leqslant; ⩽\0les; ⩽\0"
    "lescc; ⪨\0lesdot; ⩿\0lesdoto; ⪁\0lesdotor; ⪃\0lesg; ⋚\357\270\200\0lesges; ⪓\0lessapprox; ⪅\0lessdot; ⋖\0lesseqgtr; ⋚\0lesseqqgtr; ⪋\0"
    "lessgtr; ≶\0lesssim; ≲\0lfisht; ⥼\0lfloor; ⌊\0lfr; 𝔩\0lg; ≶\0lgE; ⪑\0lhard; ↽\0lharu; ↼\0lharul; ⥪\0lhblk; ▄\0ljcy; љ\0ll; ≪\0"
    "llarr; ⇇\0llcorner; ⌞\0llhard; ⥫\0lltri; ◺\0lmidot; ŀ\0lmoust; ⎰\0lmoustache; ⎰\0lnE; ≨\0lnap; ⪉\0lnapprox; ⪉\0lne; ⪇\0lneq; ⪇\0"
    "lneqq; ≨\0lnsim; ⋦\0loang; ⟬\0loarr; ⇽\0lobrk; ⟦\0longleftarrow; ⟵\0longleftrightarrow; ⟷\0longmapsto; ⟼\0longrightarrow; ⟶\0"
    "looparrowleft; ↫\0looparrowright; ↬\0lopar; ⦅\0lopf; 𝕝\0loplus; ⨭\0lotimes; ⨴\0lowast; ∗\0lowbar; _\0loz; ◊\0lozenge; ◊\0lozf; ⧫\0"
    "lpar; (\0lparlt; ⦓\0lrarr; ⇆\0lrcorner; ⌟\0lrhar; ⇋\0lrhard; ⥭\0lrm; \342\200\216\0lrtri; ⊿\0lsaquo; ‹\0lscr; 𝓁\0lsh; ↰\0lsim; ≲\0"
    "lsime; ⪍\0lsimg; ⪏\0lsqb; [\0lsquo; ‘\0lsquor; ‚\0lstrok; ł\0lt <\0lt; <\0ltcc; ⪦\0ltcir; ⩹\0ltdot; ⋖\0lthree; ⋋\0ltimes; ⋉\0"
    "ltlarr; ⥶\0ltquest; ⩻\0ltrPar; ⦖\0ltri; ◃\0ltrie; ⊴\0ltrif; ◂\0lurdshar; ⥊\0luruhar; ⥦\0lvertneqq; ≨\357\270\200\0"
    "lvnE; ≨\357\270\200\0mDDot; ∺\0macr ¯\0macr; ¯\0male; ♂\0malt; ✠\0maltese; ✠\0map; ↦\0mapsto; ↦\0mapstodown; ↧\0mapstoleft; ↤\0"
    "mapstoup; ↥\0marker; ▮\0mcomma; ⨩\0mcy; м\0mdash; —\0measuredangle; ∡\0mfr; 𝔪\0mho; ℧\0micro µ\0micro; µ\0mid; ∣\0midast; *\0"
    "midcir; ⫰\0middot ·\0middot; ·\0minus; −\0minusb; ⊟\0minusd; ∸\0minusdu; ⨪\0mlcp; ⫛\0mldr; …\0mnplus; ∓\0models; ⊧\0mopf; 𝕞\0mp; ∓\0"
    "mscr; 𝓂\0mstpos; ∾\0mu; μ\0multimap; ⊸\0mumap; ⊸\0nGg; ⋙\314\270\0nGt; ≫\342\203\222\0nGtv; ≫\314\270\0nLeftarrow; ⇍\0"
    "nLeftrightarrow; ⇎\0nLl; ⋘\314\270\0nLt; ≪\342\203\222\0nLtv; ≪\314\270\0nRightarrow; ⇏\0nVDash; ⊯\0nVdash; ⊮\0nabla; ∇\0nacute; ń\0"
    "nang; ∠\342\203\222\0nap; ≉\0napE; ⩰\314\270\0napid; ≋\314\270\0napos; ŉ\0napprox; ≉\0natur; ♮\0natural; ♮\0naturals; ℕ\0"
    "nbsp \302\240\0nbsp; \302\240\0nbump; ≎\314\270\0nbumpe; ≏\314\270\0ncap; ⩃\0ncaron; ň\0ncedil; ņ\0ncong; ≇\0ncongdot; ⩭\314\270\0"
    "ncup; ⩂\0ncy; н\0ndash; –\0ne; ≠\0neArr; ⇗\0nearhk; ⤤\0nearr; ↗\0nearrow; ↗\0nedot; ≐\314\270\0nequiv; ≢\0nesear; ⤨\0"
    "nesim; ≂\314\270\0nexist; ∄\0nexists; ∄\0nfr; 𝔫\0ngE; ≧\314\270\0nge; ≱\0ngeq; ≱\0ngeqq; ≧\314\270\0ngeqslant; ⩾\314\270\0"
    "nges; ⩾\314\270\0ngsim; ≵\0ngt; ≯\0ngtr; ≯\0nhArr; ⇎\0nharr; ↮\0nhpar; ⫲\0ni; ∋\0nis; ⋼\0nisd; ⋺\0niv; ∋\0njcy; њ\0nlArr; ⇍\0"
    "nlE; ≦\314\270\0nlarr; ↚\0nldr; ‥\0nle; ≰\0nleftarrow; ↚\0nleftrightarrow; ↮\0nleq; ≰\0nleqq; ≦\314\270\0nleqslant; ⩽\314\270\0"
    "nles; ⩽\314\270\0nless; ≮\0nlsim; ≴\0nlt; ≮\0nltri; ⋪\0nltrie; ⋬\0nmid; ∤\0nopf; 𝕟\0not ¬\0not; ¬\0notin; ∉\0notinE; ⋹\314\270\0"
    "notindot; ⋵\314\270\0notinva; ∉\0notinvb; ⋷\0notinvc; ⋶\0notni; ∌\0notniva; ∌\0notnivb; ⋾\0notnivc; ⋽\0npar; ∦\0nparallel; ∦\0"
    "nparsl; ⫽\342\203\245\0npart; ∂\314\270\0npolint; ⨔\0npr; ⊀\0nprcue; ⋠\0npre; ⪯\314\270\0nprec; ⊀\0npreceq; ⪯\314\270\0nrArr; ⇏\0"
    "nrarr; ↛\0nrarrc; ⤳\314\270\0nrarrw; ↝\314\270\0nrightarrow; ↛\0nrtri; ⋫\0nrtrie; ⋭\0nsc; ⊁\0nsccue; ⋡\0nsce; ⪰\314\270\0nscr; 𝓃\0"
    "nshortmid; ∤\0nshortparallel; ∦\0nsim; ≁\0nsime; ≄\0nsimeq; ≄\0nsmid; ∤\0nspar; ∦\0nsqsube; ⋢\0nsqsupe; ⋣\0nsub; ⊄\0nsubE; ⫅\314\270\0"
    "nsube; ⊈\0nsubset; ⊂\342\203\222\0nsubseteq; ⊈\0nsubseteqq; ⫅\314\270\0nsucc; ⊁\0nsucceq; ⪰\314\270\0nsup; ⊅\0nsupE; ⫆\314\270\0"
    "nsupe; ⊉\0nsupset; ⊃\342\203\222\0nsupseteq; ⊉\0nsupseteqq; ⫆\314\270\0ntgl; ≹\0ntilde ñ\0ntilde; ñ\0ntlg; ≸\0ntriangleleft; ⋪\0"
    "ntrianglelefteq; ⋬\0ntriangleright; ⋫\0ntrianglerighteq; ⋭\0nu; ν\0num; #\0numero; №\0numsp; \342\200\207\0nvDash; ⊭\0nvHarr; ⤄\0"
    "nvap; ≍\342\203\222\0nvdash; ⊬\0nvge; ≥\342\203\222\0nvgt; >\342\203\222\0nvinfin; ⧞\0nvlArr; ⤂\0nvle; ≤\342\203\222\0"
    "nvlt; <\342\203\222\0nvltrie; ⊴\342\203\222\0nvrArr; ⤃\0nvrtrie; ⊵\342\203\222\0nvsim; ∼\342\203\222\0nwArr; ⇖\0nwarhk; ⤣\0nwarr; ↖\0"
    "nwarrow; ↖\0nwnear; ⤧\0oS; Ⓢ\0oacute ó\0oacute; ó\0oast; ⊛\0ocir; ⊚\0ocirc ô\0ocirc; ô\0ocy; о\0odash; ⊝\0odblac; ő\0odiv; ⨸\0"
    "odot; ⊙\0odsold; ⦼\0oelig; œ\0ofcir; ⦿\0ofr; 𝔬\0ogon; ˛\0ograve ò\0ograve; ò\0ogt; ⧁\0ohbar; ⦵\0ohm; Ω\0oint; ∮\0olarr; ↺\0olcir; ⦾\0"
    "olcross; ⦻\0oline; ‾\0olt; ⧀\0omacr; ō\0omega; ω\0omicron; ο\0omid; ⦶\0ominus; ⊖\0oopf; 𝕠\0opar; ⦷\0operp; ⦹\0oplus; ⊕\0or; ∨\0"
    "orarr; ↻\0ord; ⩝\0order; ℴ\0orderof; ℴ\0ordf ª\0ordf; ª\0ordm º\0ordm; º\0origof; ⊶\0oror; ⩖\0orslope; ⩗\0orv; ⩛\0oscr; ℴ\0oslash ø\0"
    "oslash; ø\0osol; ⊘\0otilde õ\0otilde; õ\0otimes; ⊗\0otimesas; ⨶\0ouml ö\0ouml; ö\0ovbar; ⌽\0par; ∥\0para ¶\0para; ¶\0parallel; ∥\0"
    "parsim; ⫳\0parsl; ⫽\0part; ∂\0pcy; п\0percnt; %\0period; .\0permil; ‰\0perp; ⊥\0pertenk; ‱\0pfr; 𝔭\0phi; φ\0phiv; ϕ\0phmmat; ℳ\0"
    "phone; ☎\0pi; π\0pitchfork; ⋔\0piv; ϖ\0planck; ℏ\0planckh; ℎ\0plankv; ℏ\0plus; +\0plusacir; ⨣\0plusb; ⊞\0pluscir; ⨢\0plusdo; ∔\0"
    "plusdu; ⨥\0pluse; ⩲\0plusmn ±\0plusmn; ±\0plussim; ⨦\0plustwo; ⨧\0pm; ±\0pointint; ⨕\0popf; 𝕡\0pound £\0pound; £\0pr; ≺\0prE; ⪳\0"
    "prap; ⪷\0prcue; ≼\0pre; ⪯\0prec; ≺\0precapprox; ⪷\0preccurlyeq; ≼\0preceq; ⪯\0precnapprox; ⪹\0precneqq; ⪵\0precnsim; ⋨\0precsim; ≾\0"
    "prime; ′\0primes; ℙ\0prnE; ⪵\0prnap; ⪹\0prnsim; ⋨\0prod; ∏\0profalar; ⌮\0profline; ⌒\0profsurf; ⌓\0prop; ∝\0propto; ∝\0prsim; ≾\0"
    "prurel; ⊰\0pscr; 𝓅\0psi; ψ\0puncsp; \342\200\210\0qfr; 𝔮\0qint; ⨌\0qopf; 𝕢\0qprime; ⁗\0qscr; 𝓆\0quaternions; ℍ\0quatint; ⨖\0"
    "quest; \077\0questeq; ≟\0quot \042\0quot; \042\0rAarr; ⇛\0rArr; ⇒\0rAtail; ⤜\0rBarr; ⤏\0rHar; ⥤\0race; ∽\314\261\0racute; ŕ\0"
    "radic; √\0raemptyv; ⦳\0rang; ⟩\0rangd; ⦒\0range; ⦥\0rangle; ⟩\0raquo »\0raquo; »\0rarr; →\0rarrap; ⥵\0rarrb; ⇥\0rarrbfs; ⤠\0rarrc; ⤳\0"
    "rarrfs; ⤞\0rarrhk; ↪\0rarrlp; ↬\0rarrpl; ⥅\0rarrsim; ⥴\0rarrtl; ↣\0rarrw; ↝\0ratail; ⤚\0ratio; ∶\0rationals; ℚ\0rbarr; ⤍\0rbbrk; ❳\0"
    "rbrace; }\0rbrack; ]\0rbrke; ⦌\0rbrksld; ⦎\0rbrkslu; ⦐\0rcaron; ř\0rcedil; ŗ\0rceil; ⌉\0rcub; }\0rcy; р\0rdca; ⤷\0rdldhar; ⥩\0"
    "rdquo; ”\0rdquor; ”\0rdsh; ↳\0real; ℜ\0realine; ℛ\0realpart; ℜ\0reals; ℝ\0rect; ▭\0reg ®\0reg; ®\0rfisht; ⥽\0rfloor; ⌋\0rfr; 𝔯\0"
    "rhard; ⇁\0rharu; ⇀\0rharul; ⥬\0rho; ρ\0rhov; ϱ\0rightarrow; →\0rightarrowtail; ↣\0rightharpoondown; ⇁\0rightharpoonup; ⇀\0"
    "rightleftarrows; ⇄\0rightleftharpoons; ⇌\0rightrightarrows; ⇉\0rightsquigarrow; ↝\0rightthreetimes; ⋌\0ring; ˚\0risingdotseq; ≓\0"
    "rlarr; ⇄\0rlhar; ⇌\0rlm; \342\200\217\0rmoust; ⎱\0rmoustache; ⎱\0rnmid; ⫮\0roang; ⟭\0roarr; ⇾\0robrk; ⟧\0ropar; ⦆\0ropf; 𝕣\0"
    "roplus; ⨮\0rotimes; ⨵\0rpar; )\0rpargt; ⦔\0rppolint; ⨒\0rrarr; ⇉\0rsaquo; ›\0rscr; 𝓇\0rsh; ↱\0rsqb; ]\0rsquo; ’\0rsquor; ’\0"
    "rthree; ⋌\0rtimes; ⋊\0rtri; ▹\0rtrie; ⊵\0rtrif; ▸\0rtriltri; ⧎\0ruluhar; ⥨\0rx; ℞\0sacute; ś\0sbquo; ‚\0sc; ≻\0scE; ⪴\0scap; ⪸\0"
    "scaron; š\0sccue; ≽\0sce; ⪰\0scedil; ş\0scirc; ŝ\0scnE; ⪶\0scnap; ⪺\0scnsim; ⋩\0scpolint; ⨓\0scsim; ≿\0scy; с\0sdot; ⋅\0sdotb; ⊡\0"
    "sdote; ⩦\0seArr; ⇘\0searhk; ⤥\0searr; ↘\0searrow; ↘\0sect §\0sect; §\0semi; ;\0seswar; ⤩\0setminus; ∖\0setmn; ∖\0sext; ✶\0sfr; 𝔰\0"
    "sfrown; ⌢\0sharp; ♯\0shchcy; щ\0shcy; ш\0shortmid; ∣\0shortparallel; ∥\0shy \302\255\0shy; \302\255\0sigma; σ\0sigmaf; ς\0sigmav; ς\0"
    "sim; ∼\0simdot; ⩪\0sime; ≃\0simeq; ≃\0simg; ⪞\0simgE; ⪠\0siml; ⪝\0simlE; ⪟\0simne; ≆\0simplus; ⨤\0simrarr; ⥲\0slarr; ←\0"
    "smallsetminus; ∖\0smashp; ⨳\0smeparsl; ⧤\0smid; ∣\0smile; ⌣\0smt; ⪪\0smte; ⪬\0smtes; ⪬\357\270\200\0softcy; ь\0sol; /\0solb; ⧄\0"
    "solbar; ⌿\0sopf; 𝕤\0spades; ♠\0spadesuit; ♠\0spar; ∥\0sqcap; ⊓\0sqcaps; ⊓\357\270\200\0sqcup; ⊔\0sqcups; ⊔\357\270\200\0sqsub; ⊏\0"
    "sqsube; ⊑\0sqsubset; ⊏\0sqsubseteq; ⊑\0sqsup; ⊐\0sqsupe; ⊒\0sqsupset; ⊐\0sqsupseteq; ⊒\0squ; □\0square; □\0squarf; ▪\0squf; ▪\0"
    "srarr; →\0sscr; 𝓈\0ssetmn; ∖\0ssmile; ⌣\0sstarf; ⋆\0star; ☆\0starf; ★\0straightepsilon; ϵ\0straightphi; ϕ\0strns; ¯\0sub; ⊂\0subE; ⫅\0"
    "subdot; ⪽\0sube; ⊆\0subedot; ⫃\0submult; ⫁\0subnE; ⫋\0subne; ⊊\0subplus; ⪿\0subrarr; ⥹\0subset; ⊂\0subseteq; ⊆\0subseteqq; ⫅\0"
    "subsetneq; ⊊\0subsetneqq; ⫋\0subsim; ⫇\0subsub; ⫕\0subsup; ⫓\0succ; ≻\0succapprox; ⪸\0succcurlyeq; ≽\0succeq; ⪰\0succnapprox; ⪺\0"
    "succneqq; ⪶\0succnsim; ⋩\0succsim; ≿\0sum; ∑\0sung; ♪\0sup1 ¹\0sup1; ¹\0sup2 ²\0sup2; ²\0sup3 ³\0sup3; ³\0sup; ⊃\0supE; ⫆\0supdot; ⪾\0"
    "supdsub; ⫘\0supe; ⊇\0supedot; ⫄\0suphsol; ⟉\0suphsub; ⫗\0suplarr; ⥻\0supmult; ⫂\0supnE; ⫌\0supne; ⊋\0supplus; ⫀\0supset; ⊃\0"
    "supseteq; ⊇\0supseteqq; ⫆\0supsetneq; ⊋\0supsetneqq; ⫌\0supsim; ⫈\0supsub; ⫔\0supsup; ⫖\0swArr; ⇙\0swarhk; ⤦\0swarr; ↙\0swarrow; ↙\0"
    "swnwar; ⤪\0szlig ß\0szlig; ß\0target; ⌖\0tau; τ\0tbrk; ⎴\0tcaron; ť\0tcedil; ţ\0tcy; т\0tdot; \342\203\233\0telrec; ⌕\0tfr; 𝔱\0"
    "there4; ∴\0therefore; ∴\0theta; θ\0thetasym; ϑ\0thetav; ϑ\0thickapprox; ≈\0thicksim; ∼\0thinsp; \342\200\211\0thkap; ≈\0thksim; ∼\0"
    "thorn þ\0thorn; þ\0tilde; ˜\0times ×\0times; ×\0timesb; ⊠\0timesbar; ⨱\0timesd; ⨰\0tint; ∭\0toea; ⤨\0top; ⊤\0topbot; ⌶\0topcir; ⫱\0"
    "topf; 𝕥\0topfork; ⫚\0tosa; ⤩\0tprime; ‴\0trade; ™\0triangle; ▵\0triangledown; ▿\0triangleleft; ◃\0trianglelefteq; ⊴\0triangleq; ≜\0"
    "triangleright; ▹\0trianglerighteq; ⊵\0tridot; ◬\0trie; ≜\0triminus; ⨺\0triplus; ⨹\0trisb; ⧍\0tritime; ⨻\0trpezium; ⏢\0tscr; 𝓉\0"
    "tscy; ц\0tshcy; ћ\0tstrok; ŧ\0twixt; ≬\0twoheadleftarrow; ↞\0twoheadrightarrow; ↠\0uArr; ⇑\0uHar; ⥣\0uacute ú\0uacute; ú\0uarr; ↑\0"
    "ubrcy; ў\0ubreve; ŭ\0ucirc û\0ucirc; û\0ucy; у\0udarr; ⇅\0udblac; ű\0udhar; ⥮\0ufisht; ⥾\0ufr; 𝔲\0ugrave ù\0ugrave; ù\0uharl; ↿\0"
    "uharr; ↾\0uhblk; ▀\0ulcorn; ⌜\0ulcorner; ⌜\0ulcrop; ⌏\0ultri; ◸\0umacr; ū\0uml ¨\0uml; ¨\0uogon; ų\0uopf; 𝕦\0uparrow; ↑\0"
    "updownarrow; ↕\0upharpoonleft; ↿\0upharpoonright; ↾\0uplus; ⊎\0upsi; υ\0upsih; ϒ\0upsilon; υ\0upuparrows; ⇈\0urcorn; ⌝\0urcorner; ⌝\0"
    "urcrop; ⌎\0uring; ů\0urtri; ◹\0uscr; 𝓊\0utdot; ⋰\0utilde; ũ\0utri; ▵\0utrif; ▴\0uuarr; ⇈\0uuml ü\0uuml; ü\0uwangle; ⦧\0vArr; ⇕\0"
    "vBar; ⫨\0vBarv; ⫩\0vDash; ⊨\0vangrt; ⦜\0varepsilon; ϵ\0varkappa; ϰ\0varnothing; ∅\0varphi; ϕ\0varpi; ϖ\0varpropto; ∝\0varr; ↕\0"
    "varrho; ϱ\0varsigma; ς\0varsubsetneq; ⊊\357\270\200\0varsubsetneqq; ⫋\357\270\200\0varsupsetneq; ⊋\357\270\200\0"
    "varsupsetneqq; ⫌\357\270\200\0vartheta; ϑ\0vartriangleleft; ⊲\0vartriangleright; ⊳\0vcy; в\0vdash; ⊢\0vee; ∨\0veebar; ⊻\0veeeq; ≚\0"
    "vellip; ⋮\0verbar; |\0vert; |\0vfr; 𝔳\0vltri; ⊲\0vnsub; ⊂\342\203\222\0vnsup; ⊃\342\203\222\0vopf; 𝕧\0vprop; ∝\0vrtri; ⊳\0vscr; 𝓋\0"
    "vsubnE; ⫋\357\270\200\0vsubne; ⊊\357\270\200\0vsupnE; ⫌\357\270\200\0vsupne; ⊋\357\270\200\0vzigzag; ⦚\0wcirc; ŵ\0wedbar; ⩟\0"
    "wedge; ∧\0wedgeq; ≙\0weierp; ℘\0wfr; 𝔴\0wopf; 𝕨\0wp; ℘\0wr; ≀\0wreath; ≀\0wscr; 𝓌\0xcap; ⋂\0xcirc; ◯\0xcup; ⋃\0xdtri; ▽\0xfr; 𝔵\0"
    "xhArr; ⟺\0xharr; ⟷\0xi; ξ\0xlArr; ⟸\0xlarr; ⟵\0xmap; ⟼\0xnis; ⋻\0xodot; ⨀\0xopf; 𝕩\0xoplus; ⨁\0xotime; ⨂\0xrArr; ⟹\0xrarr; ⟶\0"
    "xscr; 𝓍\0xsqcup; ⨆\0xuplus; ⨄\0xutri; △\0xvee; ⋁\0xwedge; ⋀\0yacute ý\0yacute; ý\0yacy; я\0ycirc; ŷ\0ycy; ы\0yen ¥\0yen; ¥\0yfr; 𝔶\0"
    "yicy; ї\0yopf; 𝕪\0yscr; 𝓎\0yucy; ю\0yuml ÿ\0yuml; ÿ\0zacute; ź\0zcaron; ž\0zcy; з\0zdot; ż\0zeetrf; ℨ\0zeta; ζ\0zfr; 𝔷\0zhcy; ж\0"
    "zigrarr; ⇝\0zopf; 𝕫\0zscr; 𝓏\0zwj; \342\200\215\0zwnj; \342\200\214\0"
    ;
/* Where each begins. */
static const uint16_t reference_starts[] = {
    0, 9, 19, 25, 32, 42, 53, 64, 73, 83, 91, 101, 111, 122, 132, 142, 151, 161, 172, 191, 200, 210, 221, 233, 243, 254, 262, 271, 286,
    296, 308, 316, 329, 345, 354, 364, 375, 385, 395, 407, 416, 424, 433, 444, 453, 479, 492, 503, 513, 524, 534, 547, 556, 568, 582, 591,
    599, 614, 631, 647, 664, 694, 721, 742, 753, 765, 780, 792, 813, 823, 838, 875, 886, 897, 906, 918, 926, 940, 949, 958, 967, 979, 989,
    1000, 1011, 1019, 1028, 1038, 1048, 1069, 1088, 1115, 1135, 1156, 1169, 1188, 1199, 1207, 1219, 1233, 1260, 1274, 1295, 1316, 1342,
    1361, 1386, 1416, 1442, 1464, 1484, 1503, 1526, 1549, 1564, 1582, 1604, 1618, 1643, 1666, 1686, 1709, 1733, 1754, 1778, 1791, 1809,
    1824, 1835, 1846, 1854, 1861, 1869, 1879, 1890, 1901, 1910, 1920, 1928, 1937, 1947, 1957, 1968, 1981, 1991, 2013, 2039, 2049, 2060,
    2072, 2083, 2099, 2116, 2126, 2136, 2144, 2152, 2161, 2173, 2191, 2199, 2209, 2232, 2259, 2270, 2282, 2298, 2308, 2317, 2322, 2328,
    2338, 2349, 2360, 2371, 2381, 2389, 2398, 2408, 2416, 2427, 2445, 2467, 2489, 2509, 2526, 2549, 2567, 2578, 2586, 2597, 2607, 2614,
    2624, 2633, 2651, 2661, 2681, 2691, 2702, 2720, 2735, 2744, 2754, 2763, 2773, 2784, 2793, 2803, 2811, 2820, 2829, 2839, 2850, 2858,
    2868, 2884, 2897, 2906, 2920, 2938, 2958, 2978, 2988, 2999, 3008, 3018, 3029, 3039, 3047, 3056, 3066, 3074, 3084, 3095, 3106, 3117,
    3127, 3136, 3145, 3155, 3166, 3174, 3184, 3195, 3206, 3215, 3220, 3226, 3237, 3248, 3258, 3274, 3284, 3295, 3306, 3314, 3336, 3351,
    3369, 3394, 3411, 3434, 3457, 3477, 3500, 3515, 3535, 3556, 3569, 3587, 3606, 3624, 3645, 3668, 3690, 3711, 3729, 3750, 3766, 3785,
    3800, 3820, 3842, 3861, 3878, 3892, 3912, 3927, 3937, 3945, 3961, 3972, 3991, 4015, 4035, 4054, 4078, 4098, 4109, 4129, 4150, 4160,
    4169, 4180, 4188, 4197, 4205, 4222, 4237, 4247, 4262, 4273, 4283, 4290, 4299, 4310, 4321, 4332, 4340, 4365, 4389, 4412, 4439, 4465,
    4485, 4496, 4506, 4519, 4540, 4550, 4559, 4577, 4592, 4618, 4634, 4648, 4669, 4684, 4700, 4721, 4748, 4773, 4793, 4821, 4842, 4865,
    4885, 4906, 4932, 4958, 4971, 4989, 5009, 5028, 5053, 5071, 5102, 5127, 5144, 5168, 5195, 5218, 5240, 5267, 5294, 5317, 5343, 5368,
    5396, 5414, 5434, 5451, 5475, 5502, 5526, 5546, 5568, 5582, 5601, 5624, 5643, 5663, 5674, 5684, 5695, 5702, 5712, 5722, 5733, 5742,
    5752, 5760, 5771, 5781, 5791, 5802, 5812, 5822, 5834, 5845, 5871, 5891, 5899, 5910, 5920, 5931, 5941, 5952, 5964, 5972, 5981, 5994,
    6009, 6026, 6047, 6061, 6069, 6079, 6087, 6094, 6108, 6127, 6137, 6145, 6159, 6178, 6202, 6221, 6232, 6245, 6261, 6279, 6290, 6298,
    6305, 6313, 6323, 6333, 6344, 6355, 6362, 6370, 6381, 6391, 6401, 6413, 6424, 6435, 6443, 6451, 6471, 6495, 6521, 6530, 6538, 6561,
    6577, 6596, 6621, 6639, 6663, 6687, 6708, 6732, 6748, 6762, 6781, 6801, 6820, 6842, 6866, 6889, 6911, 6930, 6952, 6969, 6989, 7005,
    7015, 7033, 7050, 7060, 7069, 7086, 7097, 7106, 7117, 7128, 7136, 7147, 7158, 7168, 7176, 7186, 7206, 7226, 7247, 7265, 7275, 7292,
    7303, 7313, 7325, 7349, 7367, 7390, 7410, 7435, 7452, 7463, 7473, 7482, 7494, 7511, 7525, 7544, 7568, 7587, 7601, 7610, 7619, 7633,
    7652, 7664, 7673, 7683, 7694, 7704, 7713, 7720, 7728, 7739, 7750, 7758, 7768, 7783, 7793, 7812, 7827, 7838, 7854, 7874, 7890, 7901,
    7916, 7927, 7938, 7948, 7959, 7969, 7983, 7993, 8004, 8013, 8023, 8031, 8042, 8052, 8062, 8073, 8083, 8095, 8111, 8129, 8151, 8162,
    8177, 8187, 8198, 8211, 8227, 8249, 8266, 8285, 8296, 8312, 8325, 8342, 8362, 8383, 8392, 8404, 8414, 8425, 8436, 8444, 8453, 8464,
    8474, 8482, 8493, 8505, 8514, 8526, 8536, 8553, 8569, 8592, 8611, 8630, 8640, 8651, 8662, 8674, 8684, 8695, 8705, 8716, 8727, 8737,
    8744, 8755, 8766, 8775, 8784, 8793, 8803, 8814, 8824, 8832, 8842, 8853, 8864, 8873, 8882, 8893, 8904, 8912, 8921, 8941, 8950, 8959,
    8969, 8980, 8990, 9001, 9012, 9020, 9031, 9040, 9049, 9059, 9068, 9078, 9086, 9095, 9105, 9113, 9123, 9133, 9144, 9157, 9168, 9178,
    9188, 9199, 9205, 9212, 9221, 9233, 9243, 9257, 9267, 9276, 9286, 9297, 9309, 9323, 9337, 9351, 9365, 9379, 9393, 9407, 9421, 9432,
    9445, 9459, 9471, 9481, 9494, 9504, 9515, 9523, 9532, 9544, 9553, 9563, 9571, 9583, 9597, 9606, 9616, 9627, 9634, 9645, 9658, 9668,
    9679, 9687, 9696, 9710, 9721, 9731, 9745, 9761, 9776, 9789, 9804, 9816, 9828, 9842, 9852, 9866, 9877, 9885, 9896, 9908, 9921, 9934,
    9944, 9956, 9965, 9975, 9988, 9998, 10010, 10023, 10035, 10048, 10062, 10077, 10091, 10104, 10125, 10144, 10158, 10170, 10184, 10196,
    10214, 10231, 10250, 10273, 10296, 10320, 10331, 10342, 10353, 10364, 10375, 10385, 10401, 10411, 10422, 10431, 10443, 10455, 10466,
    10477, 10488, 10499, 10509, 10520, 10531, 10542, 10553, 10564, 10575, 10586, 10597, 10607, 10618, 10629, 10640, 10651, 10662, 10673,
    10685, 10696, 10707, 10718, 10729, 10739, 10750, 10761, 10772, 10783, 10797, 10810, 10824, 10835, 10846, 10857, 10868, 10878, 10889,
    10900, 10911, 10922, 10933, 10944, 10956, 10966, 10976, 10987, 10998, 11009, 11019, 11030, 11038, 11049, 11063, 11073, 11085, 11095,
    11106, 11117, 11129, 11140, 11149, 11161, 11175, 11187, 11199, 11211, 11224, 11235, 11245, 11256, 11267, 11277, 11288, 11298, 11309,
    11322, 11331, 11340, 11350, 11363, 11371, 11380, 11394, 11404, 11413, 11424, 11439, 11447, 11456, 11466, 11475, 11487, 11508, 11530,
    11543, 11557, 11573, 11590, 11607, 11617, 11631, 11643, 11656, 11667, 11681, 11690, 11702, 11715, 11724, 11734, 11744, 11756, 11772,
    11787, 11797, 11810, 11822, 11833, 11845, 11853, 11862, 11874, 11885, 11896, 11907, 11917, 11928, 11938, 11949, 11960, 11973, 11986,
    11997, 12008, 12020, 12033, 12042, 12056, 12068, 12080, 12092, 12103, 12116, 12128, 12141, 12158, 12175, 12189, 12205, 12215, 12226,
    12246, 12267, 12278, 12289, 12303, 12314, 12326, 12336, 12346, 12358, 12370, 12380, 12390, 12401, 12414, 12424, 12435, 12443, 12451,
    12464, 12475, 12488, 12495, 12503, 12513, 12526, 12538, 12548, 12559, 12570, 12580, 12593, 12610, 12621, 12629, 12641, 12652, 12660,
    12670, 12681, 12700, 12712, 12721, 12733, 12745, 12755, 12766, 12774, 12785, 12799, 12813, 12826, 12841, 12861, 12876, 12896, 12917,
    12939, 12953, 12965, 12977, 12988, 12997, 13007, 13018, 13029, 13039, 13050, 13061, 13072, 13085, 13094, 13108, 13119, 13129, 13139,
    13150, 13162, 13173, 13183, 13192, 13202, 13214, 13222, 13231, 13239, 13250, 13260, 13268, 13278, 13289, 13298, 13310, 13318, 13332,
    13341, 13350, 13362, 13372, 13383, 13397, 13409, 13421, 13433, 13443, 13451, 13461, 13471, 13482, 13492, 13504, 13515, 13524, 13536,
    13546, 13558, 13571, 13582, 13598, 13615, 13625, 13637, 13648, 13661, 13675, 13686, 13697, 13707, 13718, 13728, 13736, 13743, 13751,
    13759, 13768, 13778, 13786, 13797, 13814, 13832, 13851, 13859, 13871, 13883, 13894, 13906, 13916, 13927, 13937, 13947, 13958, 13969,
    13978, 13989, 14001, 14011, 14022, 14036, 14046, 14057, 14069, 14079, 14090, 14102, 14114, 14126, 14138, 14150, 14160, 14171, 14183,
    14195, 14207, 14219, 14231, 14243, 14254, 14265, 14276, 14284, 14293, 14304, 14314, 14325, 14334, 14345, 14355, 14363, 14372, 14380,
    14389, 14398, 14408, 14422, 14431, 14442, 14454, 14467, 14481, 14494, 14506, 14516, 14524, 14533, 14544, 14553, 14561, 14570, 14579,
    14588, 14597, 14607, 14621, 14630, 14640, 14651, 14662, 14673, 14682, 14692, 14702, 14713, 14724, 14729, 14735, 14745, 14756, 14767,
    14779, 14792, 14807, 14819, 14831, 14846, 14862, 14875, 14887, 14905, 14918, 14928, 14940, 14949, 14961, 14972, 14982, 14995, 15006,
    15016, 15026, 15038, 15053, 15065, 15077, 15087, 15101, 15115, 15126, 15138, 15157, 15177, 15188, 15200, 15211, 15223, 15234, 15246,
    15258, 15268, 15279, 15287, 15296, 15306, 15314, 15323, 15332, 15342, 15351, 15361, 15371, 15382, 15390, 15402, 15413, 15425, 15436,
    15446, 15456, 15467, 15481, 15495, 15505, 15515, 15525, 15533, 15545, 15556, 15570, 15581, 15590, 15602, 15616, 15630, 15644, 15657,
    15666, 15676, 15687, 15696, 15707, 15717, 15728, 15739, 15749, 15760, 15773, 15784, 15796, 15807, 15815, 15826, 15836, 15844, 15853,
    15863, 15871, 15881, 15891, 15902, 15913, 15924, 15934, 15944, 15955, 15966, 15974, 15984, 15995, 16004, 16013, 16024, 16035, 16046,
    16056, 16068, 16079, 16087, 16096, 16106, 16117, 16131, 16143, 16154, 16164, 16175, 16187, 16196, 16205, 16215, 16225, 16236, 16249,
    16261, 16273, 16285, 16297, 16310, 16322, 16331, 16343, 16353, 16367, 16378, 16389, 16399, 16409, 16420, 16433, 16446, 16457, 16468,
    16479, 16487, 16495, 16505, 16516, 16528, 16541, 16555, 16565, 16573, 16588, 16607, 16628, 16647, 16667, 16687, 16708, 16731, 16756,
    16776, 16785, 16794, 16804, 16818, 16827, 16838, 16850, 16863, 16877, 16890, 16902, 16918, 16931, 16946, 16962, 16975, 16988, 17000,
    17012, 17022, 17030, 17039, 17050, 17061, 17073, 17084, 17093, 17101, 17112, 17126, 17138, 17149, 17160, 17172, 17188, 17197, 17207,
    17221, 17230, 17240, 17251, 17262, 17273, 17284, 17295, 17314, 17338, 17354, 17374, 17393, 17413, 17424, 17435, 17447, 17460, 17472,
    17482, 17491, 17504, 17514, 17522, 17534, 17545, 17559, 17570, 17582, 17591, 17602, 17614, 17625, 17634, 17644, 17655, 17666, 17674,
    17685, 17697, 17708, 17713, 17719, 17729, 17740, 17751, 17763, 17775, 17787, 17800, 17812, 17822, 17833, 17844, 17858, 17871, 17889,
    17902, 17913, 17921, 17930, 17940, 17950, 17963, 17972, 17984, 18000, 18016, 18030, 18042, 18054, 18062, 18073, 18092, 18102, 18111,
    18120, 18130, 18139, 18149, 18161, 18171, 18182, 18193, 18205, 18217, 18230, 18240, 18250, 18262, 18274, 18285, 18293, 18304, 18316,
    18323, 18337, 18348, 18359, 18371, 18383, 18399, 18420, 18431, 18443, 18455, 18472, 18484, 18496, 18507, 18518, 18531, 18540, 18552,
    18565, 18575, 18588, 18599, 18612, 18626, 18634, 18643, 18656, 18670, 18680, 18691, 18702, 18713, 18729, 18739, 18747, 18758, 18766,
    18777, 18789, 18800, 18813, 18826, 18838, 18850, 18863, 18875, 18888, 18898, 18909, 18918, 18928, 18941, 18958, 18970, 18981, 18990,
    19000, 19011, 19022, 19033, 19041, 19050, 19060, 19069, 19078, 19089, 19100, 19111, 19121, 19130, 19146, 19167, 19177, 19190, 19207,
    19219, 19230, 19241, 19250, 19261, 19273, 19283, 19294, 19301, 19309, 19320, 19334, 19350, 19363, 19376, 19389, 19400, 19413, 19426,
    19439, 19449, 19464, 19479, 19492, 19505, 19514, 19526, 19538, 19549, 19564, 19575, 19586, 19600, 19614, 19631, 19642, 19654, 19663,
    19675, 19687, 19698, 19713, 19733, 19743, 19754, 19766, 19777, 19788, 19801, 19814, 19824, 19837, 19848, 19864, 19879, 19897, 19908,
    19923, 19933, 19946, 19957, 19973, 19988, 20006, 20016, 20026, 20037, 20047, 20066, 20087, 20107, 20129, 20136, 20143, 20155, 20166,
    20178, 20190, 20203, 20215, 20228, 20239, 20252, 20264, 20277, 20288, 20304, 20316, 20332, 20346, 20357, 20369, 20380, 20393, 20405,
    20413, 20423, 20434, 20444, 20454, 20463, 20473, 20481, 20492, 20503, 20513, 20523, 20535, 20545, 20556, 20566, 20575, 20585, 20596,
    20605, 20616, 20624, 20634, 20645, 20656, 20669, 20680, 20689, 20699, 20709, 20721, 20731, 20743, 20754, 20764, 20775, 20786, 20794,
    20805, 20814, 20825, 20838, 20846, 20855, 20863, 20872, 20884, 20894, 20907, 20916, 20926, 20936, 20947, 20957, 20967, 20978, 20990,
    21004, 21012, 21021, 21032, 21041, 21049, 21058, 21072, 21084, 21095, 21105, 21113, 21123, 21133, 21145, 21155, 21168, 21178, 21186,
    21195, 21207, 21218, 21225, 21240, 21248, 21260, 21273, 21285, 21293, 21307, 21318, 21331, 21343, 21355, 21366, 21376, 21387, 21400,
    21413, 21420, 21434, 21445, 21454, 21464, 21472, 21481, 21491, 21502, 21511, 21521, 21537, 21554, 21566, 21583, 21597, 21611, 21624,
    21635, 21647, 21657, 21668, 21680, 21690, 21704, 21718, 21732, 21742, 21754, 21765, 21777, 21788, 21796, 21808, 21818, 21828, 21839,
    21851, 21862, 21879, 21892, 21901, 21914, 21921, 21929, 21940, 21950, 21962, 21973, 21983, 21995, 22006, 22017, 22031, 22041, 22052,
    22063, 22075, 22084, 22094, 22104, 22116, 22127, 22140, 22151, 22163, 22175, 22187, 22199, 22212, 22224, 22235, 22247, 22258, 22273,
    22284, 22295, 22305, 22315, 22326, 22339, 22352, 22363, 22374, 22385, 22393, 22401, 22411, 22424, 22435, 22447, 22457, 22467, 22480,
    22494, 22505, 22515, 22522, 22530, 22542, 22554, 22564, 22575, 22586, 22598, 22606, 22615, 22631, 22651, 22673, 22693, 22714, 22737,
    22759, 22780, 22801, 22810, 22828, 22839, 22850, 22859, 22871, 22887, 22898, 22909, 22920, 22931, 22942, 22953, 22965, 22978, 22986,
    22998, 23012, 23023, 23035, 23046, 23055, 23063, 23074, 23086, 23098, 23110, 23120, 23131, 23142, 23156, 23169, 23177, 23188, 23199,
    23207, 23216, 23226, 23237, 23248, 23257, 23268, 23278, 23288, 23299, 23311, 23325, 23336, 23344, 23354, 23365, 23376, 23387, 23399,
    23410, 23423, 23431, 23440, 23448, 23460, 23474, 23485, 23495, 23505, 23517, 23528, 23539, 23548, 23562, 23581, 23588, 23596, 23606,
    23617, 23628, 23637, 23649, 23659, 23670, 23680, 23691, 23701, 23712, 23723, 23736, 23749, 23760, 23779, 23791, 23805, 23815, 23826,
    23835, 23845, 23859, 23870, 23877, 23887, 23899, 23910, 23922, 23937, 23947, 23958, 23973, 23984, 23999, 24010, 24022, 24036, 24052,
    24063, 24075, 24089, 24105, 24114, 24126, 24138, 24148, 24159, 24170, 24182, 24194, 24206, 24216, 24227, 24247, 24263, 24273, 24282,
    24292, 24304, 24314, 24327, 24340, 24351, 24362, 24375, 24388, 24400, 24414, 24429, 24444, 24460, 24472, 24484, 24496, 24506, 24522,
    24539, 24551, 24568, 24582, 24596, 24609, 24618, 24628, 24636, 24645, 24653, 24662, 24670, 24679, 24688, 24698, 24710, 24723, 24733,
    24746, 24759, 24772, 24785, 24798, 24809, 24820, 24833, 24845, 24859, 24874, 24889, 24905, 24917, 24929, 24941, 24952, 24964, 24975,
    24988, 25000, 25009, 25019, 25031, 25039, 25049, 25060, 25071, 25079, 25089, 25101, 25111, 25123, 25138, 25148, 25161, 25172, 25189,
    25203, 25215, 25226, 25238, 25247, 25257, 25267, 25276, 25286, 25298, 25312, 25324, 25334, 25344, 25353, 25365, 25377, 25388, 25401,
    25411, 25423, 25434, 25448, 25466, 25484, 25504, 25519, 25538, 25559, 25571, 25581, 25595, 25608, 25619, 25632, 25646, 25657, 25666,
    25676, 25687, 25698, 25720, 25743, 25753, 25763, 25773, 25784, 25794, 25804, 25815, 25824, 25834, 25842, 25853, 25864, 25875, 25887,
    25897, 25907, 25918, 25929, 25940, 25951, 25963, 25977, 25989, 26000, 26010, 26017, 26025, 26035, 26046, 26059, 26076, 26095, 26115,
    26126, 26135, 26145, 26157, 26173, 26185, 26199, 26211, 26221, 26232, 26243, 26254, 26265, 26275, 26286, 26297, 26305, 26314, 26327,
    26337, 26347, 26358, 26369, 26381, 26396, 26409, 26425, 26436, 26446, 26461, 26471, 26482, 26495, 26516, 26538, 26559, 26581, 26594,
    26615, 26637, 26645, 26656, 26665, 26677, 26688, 26700, 26710, 26718, 26728, 26739, 26753, 26767, 26778, 26789, 26800, 26811, 26826,
    26841, 26856, 26871, 26884, 26894, 26906, 26917, 26929, 26941, 26951, 26962, 26970, 26978, 26990, 27001, 27011, 27022, 27032, 27043,
    27053, 27064, 27075, 27082, 27093, 27104, 27114, 27124, 27135, 27146, 27158, 27170, 27181, 27192, 27203, 27215, 27227, 27238, 27248,
    27260, 27270, 27281, 27290, 27300, 27308, 27315, 27323, 27333, 27342, 27353, 27364, 27373, 27381, 27390, 27401, 27412, 27420, 27429,
    27441, 27450, 27460, 27469, 27482, 27493, 27504, 27513,
};
