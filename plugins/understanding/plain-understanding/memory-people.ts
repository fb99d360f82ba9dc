/**
 * People and animals of the speaker that are mentioned: "my sister", "mis dos hijos", "meine Tochter Mia".
 */
import type { Code } from './memory-form.ts';
import { isFemale } from './memory-names.ts';

/** Relatives and pets worth listing as lasting facts; everybody has parents, and bosses change. */
const MENTIONED: Readonly<Record<Code, RegExp>> = {
  en: /(?<!\p{L})(?:[Mm]y|[Oo]ur) (?:(?<count>two|three|four|five) )?(?:(?:little|older|younger|big|eldest|youngest|kleine[rn]?|große[rn]?|ältere[rn]?|jüngere[rn]?|petite?|grande?) )?(?<relation>husband|wife|fiancée?|(?:step)?(?:son|daughter)s?|brothers?|sisters?|twins|grand(?:son|daughter)s?|grandchildren|kids|children|(?:brother|sister)-in-law|nephews?|nieces?|flatmate|roommate|dogs?|cats?|horse|rabbit)(?![\p{L}-])(?: (?<name>\p{Lu}\p{Ll}{2,20})(?!\p{L}))?/gu,
  de: /(?<!\p{L})(?:[Mm]eine?[mnrs]?|[Uu]nsere?[mnrs]?) (?:(?<count>zwei|drei|vier|fünf) )?(?:(?:little|older|younger|big|eldest|youngest|kleine[rn]?|große[rn]?|ältere[rn]?|jüngere[rn]?|petite?|grande?) )?(?<relation>Verlobter?|Söhne|Sohn|Töchter|Tochter|Kinder|Zwillinge|Brüder|Bruder|Schwestern?|Enkelin|Enkelkinder|Enkel|Schwager|Schwägerin|Neffe|Nichte|Mitbewohnerin|Mitbewohner|Hund|Hündin|Katze|Kater|Pferd)(?![\p{L}-])(?: (?<name>\p{Lu}\p{Ll}{2,20})(?!\p{L}))?/gu,
  fr: /(?<!\p{L})(?:[Mm]on|[Mm]a|[Mm]es|[Nn]otre|[Nn]os) (?:(?<count>deux|trois|quatre|cinq) )?(?:(?:little|older|younger|big|eldest|youngest|kleine[rn]?|große[rn]?|ältere[rn]?|jüngere[rn]?|petite?|grande?) )?(?<relation>mari|fiancée?|fils|filles?|enfants|jumeaux|jumelles|frères?|sœurs?|soeurs?|petit-fils|petite-fille|petits-enfants|beau-frère|belle-sœur|neveux?|nièces?|colocataire|chien|chienne|chatte?|cheval|lapin)(?![\p{L}-])(?: (?<name>\p{Lu}\p{Ll}{2,20})(?!\p{L}))?/gu,
  es: /(?<!\p{L})(?:[Mm]is?|[Nn]uestr[oa]s?) (?:(?<count>dos|tres|cuatro|cinco) )?(?:(?:little|older|younger|big|eldest|youngest|kleine[rn]?|große[rn]?|ältere[rn]?|jüngere[rn]?|petite?|grande?) )?(?<relation>marido|esposo|esposa|prometid[oa]|hij[oa]s?|mellizos|gemelos|herman[oa]s?|niet[oa]s?|cuñad[oa]|sobrin[oa]s?|perr[oa]|gat[oa]|caballo|conejo)(?![\p{L}-])(?: (?<name>\p{Lu}\p{Ll}{2,20})(?!\p{L}))?/gu,
};

export interface Mentioned {
  /** "Sister", "two sons". */
  relation: string;
  /** In the third person: "has a sister". */
  told: string;
  at: number;
  /** Whether their name or number was mentioned. */
  isNamed: boolean;
}

export function peopleIn(text: string, code: Code): Mentioned[] {
  return [...text.matchAll(MENTIONED[code])].flatMap(({ index, groups }) => {
    const { relation, count, name } = groups ?? {};
    if (!relation || (count === undefined && isSeveral(relation, code))) return [];
    const article = count ?? ARTICLES[code][isFemale(relation) ? 1 : 0];
    // a German noun after another one may be unrelated: "meinem Hund Futter geben"
    const called = name && code !== 'de' && count === undefined ? CALLED[code].replace('{}', () => name) : '';
    return [
      {
        relation,
        told: `${HAS[code]} ${article} ${nominative(relation, code)}${called}`,
        at: index,
        isNamed: called !== '' || count !== undefined,
      },
    ];
  });
}

const HAS: Readonly<Record<Code, string>> = { en: 'has', de: 'hat', fr: 'a', es: 'tiene' };
const ARTICLES: Readonly<Record<Code, readonly [string, string]>> = {
  en: ['a', 'a'],
  de: ['einen', 'eine'],
  fr: ['un', 'une'],
  es: ['un', 'una'],
};
const CALLED: Readonly<Record<Code, string>> = {
  en: ' called {}',
  de: ' namens {}',
  fr: ' qui s’appelle {}',
  es: ' que se llama {}',
};

/** "My kids": without their number. */
function isSeveral(relation: string, code: Code): boolean {
  if (code === 'de')
    return /^(?:Söhne|Töchter|Kinder|Zwillinge|Brüder|Schwestern|Enkelkinder)$/.test(relation);
  return /(?:[^u]s|children|kids|x)$/.test(relation) && relation !== 'fils' && relation !== 'petit-fils';
}

function nominative(relation: string, code: Code): string {
  return code === 'de' && relation === 'Neffe' ? 'Neffen' : relation;
}
