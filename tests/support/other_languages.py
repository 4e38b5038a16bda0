"""The same lease in other languages, written for these tests."""

from __future__ import annotations

LEASES = {
    "de": (
        "Mietvertrag für die Wohnung in der Lessingstraße. Die monatliche Miete beträgt 640 Euro und ist bis zum "
        "dritten Werktag zu zahlen. Die Kaution beträgt drei Monatsmieten. Haustiere sind nicht erlaubt, außer "
        "Katzen. Der Mieter muss kleinere Reparaturen bis zwölf Euro selbst bezahlen. Die Schlüssel der Häuser liegen "
        "beim Hausmeister."
    ),
    "es": (
        "Contrato de alquiler del piso en la calle Olmo. La renta mensual es de 640 euros y se paga antes del día "
        "tres de cada mes. La fianza es de tres mensualidades. No se permiten animales, salvo gatos. El inquilino "
        "paga las reparaciones pequeñas de hasta doce euros. Las llaves de las casas están en la portería."
    ),
    "fr": (
        "Bail de l'appartement situé rue des Ormes. Le loyer mensuel est de 640 euros et doit être payé avant le "
        "trois de chaque mois. Le dépôt de garantie est de trois mois de loyer. Les animaux ne sont pas autorisés, "
        "sauf les chats. Le locataire paie les petites réparations jusqu'à douze euros. Les clés des maisons sont "
        "chez le gardien."
    ),
    "pt": (
        "Contrato de arrendamento do apartamento na rua do Olmo. A renda mensal é de 640 euros e deve ser paga até ao "
        "dia três de cada mês. A caução é de três rendas. Não são permitidos animais, exceto gatos. O inquilino paga "
        "as pequenas reparações até doze euros. As chaves das casas estão na portaria."
    ),
    "it": (
        "Contratto di affitto dell'appartamento in via degli Olmi. Il canone mensile è di 640 euro e si paga entro il "
        "giorno tre di ogni mese. La cauzione è di tre mensilità. Gli animali non sono ammessi, tranne i gatti. "
        "L'inquilino paga le piccole riparazioni fino a dodici euro. Le chiavi delle case sono in portineria."
    ),
    "ru": (
        "Договор найма квартиры на улице Вязов. Арендная плата составляет 640 евро в месяц и вносится до третьего "
        "числа. Залог составляет три месячные платы. Животных держать нельзя, кроме кошек. Наниматель сам оплачивает "
        "мелкие ремонты до двенадцати евро. Ключи от домов хранятся у коменданта."
    ),
    "zh": (
        "榆树街公寓租赁合同。"
        "每月租金为六百四十欧元，须在每月三日之前支付。"
        "押金为三个月的租金。"
        "不允许饲养宠物，猫除外。"
        "钥匙由管理员保管。"
    ),
    "ja": (
        "ニレ通りのアパートの賃貸契約書。"
        "毎月の家賃は六百四十ユーロで、三日までに支払う。"
        "敷金は家賃の三か月分である。"
        "猫を除き、ペットの飼育は認められない。"
        "鍵は管理人が保管する。"
    ),
}
